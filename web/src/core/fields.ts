/** Reads what a message holds, by the shapes that `declarations.ts` has of it. */

import { MAX_POSITION, SHAPES } from "./declarations.ts";
import { malformed } from "./failure.ts";

type Json = Record<string, unknown>;

const isNumber = (value: unknown, least: number): boolean =>
  typeof value === "number" && value >= least;

const isInteger = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && isNumber(value, least) && Number(value) <= most;

/** What a value of each kind is. */
const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  number: (value) => isInteger(value, 0, 0xffff_ffff),
  last_seq: (value) => isInteger(value, -1, 0xffff_ffff),
  position: (value) => isInteger(value, 0, MAX_POSITION),
  real: (value) => typeof value === "number",
  seconds: (value) => isNumber(value, 0),
  period: (value) => isNumber(value, Number.MIN_VALUE),
  text: (value) => typeof value === "string",
  flag: (value) => typeof value === "boolean",
  anything: isObject,
};

/** One field: its name, its kind, and what it is when it is not there. */
type Field = readonly [name: string, kind: string, fallback: string | undefined];

const READ = new Map<string, Field[]>();

/** The fields of a shape; each shape is taken apart once. */
function fieldsOf(name: string): Field[] {
  let fields = READ.get(name);
  if (!fields) {
    const words = SHAPES[name]?.trim().split(/\s+/) ?? [];
    fields = words.filter(Boolean).map((word): Field => {
      const [, field = "", kind = "", mark, fallback] =
        /^(\w+):([^?=]+)(\?|=(.*))?$/.exec(word) ?? [];
      return [field, kind, mark === "?" ? "null" : fallback];
    });
    READ.set(name, fields);
  }
  return fields;
}

/**
 * Read an object of a shape: defaults are filled in, fields that are not declared are left out, and
 * so are optional ones that are not there. Fails with `malformed_message`, which says where.
 */
export function readShape(name: string, value: unknown, path: string): Json {
  if (!isObject(value)) {
    throw malformed(`expected an object - at \`${path}\``);
  }
  const made: Json = {};
  for (const [field, kind, fallback] of fieldsOf(name)) {
    const given = value[field];
    if (given !== undefined && !(given === null && fallback === "null")) {
      made[field] = readKind(kind, given, `${path}.${field}`);
    } else if (fallback === undefined) {
      throw malformed(`missing field - at \`${path}.${field}\``);
    } else if (fallback !== "null") {
      made[field] = readKind(kind, JSON.parse(fallback), path);
    }
  }
  return made;
}

function readKind(kind: string, value: unknown, path: string): unknown {
  if (Object.hasOwn(SHAPES, kind)) {
    return readShape(kind, value, path);
  }
  const [first = "", ...more] = kind.split(",");
  if (Array.isArray(value) && kind.endsWith("[]")) {
    return value.map((item, index) => readKind(kind.slice(0, -2), item, `${path}[${index}]`));
  }
  if (Array.isArray(value) && more.length && value.length === more.length + 1) {
    return value.map((item) => readKind(first, item, path));
  }
  const isRight =
    KINDS[kind] ?? ((word) => kind.includes("|") && kind.split("|").includes(`${word}`));
  if (!isRight(value)) {
    throw malformed(`expected ${kind} - at \`${path}\``);
  }
  return value;
}

/** Whether a value is an object with names. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
