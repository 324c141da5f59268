import { MemoryError } from '../errors.ts';

/** Environment variables, as in `process.env`. An empty value counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A configured text and the name by which a message calls it. */
export interface Setting {
  readonly label: string;
  readonly text: string;
}

export function environmentSetting(env: Environment, name: string): Setting | undefined {
  const text = env[name];
  return text === undefined || text === '' ? undefined : { label: name, text };
}

/** The setting as one of the values; absent stays absent. Throws `misconfigured` without repeating the text. */
export function readChoice<Value extends string>(
  setting: Setting | undefined,
  values: readonly Value[],
): Value | undefined {
  if (setting === undefined) {
    return undefined;
  }
  const value = values.find((candidate) => candidate === setting.text);
  if (value === undefined) {
    throw misconfigured(`${setting.label} must be ${values.join(' or ')}.`);
  }
  return value;
}

export function readFlag(setting: Setting | undefined): boolean | undefined {
  const value = readChoice(setting, ['1', 'true', '0', 'false']);
  return value === undefined ? undefined : value === '1' || value === 'true';
}

/** A whole number of bytes from 1 to `max`, in decimal digits. */
export function readByteCount({ label, text }: Setting, max: number): number {
  const count = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= 1 && count <= max)) {
    throw misconfigured(`${label} must be a whole number of bytes from 1 to ${max}.`);
  }
  return count;
}

/** A whole number within the bounds, in decimal digits. */
export function readWholeNumber(
  { label, text }: Setting,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw misconfigured(`${label} must be a whole number from ${least} to ${most}.`);
}

export function misconfigured(message: string, cause?: unknown): MemoryError {
  return new MemoryError('misconfigured', message, { cause });
}
