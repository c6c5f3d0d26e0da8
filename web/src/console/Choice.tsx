/** A select with its label. */

export interface Option {
  readonly value: string;
  readonly label: string;
  readonly disabled?: boolean;
}

export interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly onChoose: (value: string) => void;
  readonly disabled?: boolean;
}

export function Choice({ label, value, options, onChoose, disabled = false }: ChoiceProps) {
  const known = options.some((option) => option.value === value);
  return (
    <label class="field chosen">
      {label}
      <select
        value={value}
        disabled={disabled}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {known ? null : <option value={value}>{value}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled ?? false}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}
