/** Calls of handlers that an application gave. */

/** Call a handler, if there is one; what it throws is reported as uncaught, and harms nobody. */
export function guard<A extends unknown[]>(
  handler: ((...given: A) => void) | undefined,
): (...given: A) => void {
  return (...given) => {
    try {
      handler?.(...given);
    } catch (error) {
      setTimeout(() => {
        throw error;
      });
    }
  };
}
