import { MemoryError } from '../../errors.ts';
import { type MemoryPath, parseGivenPath } from '../../language/path.ts';
import { type FieldKind, type FormOf, QUESTIONS, type QuestionName } from '../protocol.ts';

/** A question's input as it came from the browser. */
export type GivenFields = Readonly<Record<string, unknown>>;

/** The type of each kind of field, once it was read. */
interface KindsOfFields {
  readonly path: MemoryPath;
  readonly text: string;
  /** The version that the page has shown; undefined where it has shown none. */
  readonly version: string | undefined;
  readonly null: null;
  readonly paths: readonly MemoryPath[];
  /** The versions of files by their paths, the paths as they came. */
  readonly listed: ReadonlyMap<string, string>;
}

/** The fields of a question once they were read. */
export type FieldsOf<N extends QuestionName> =
  FormOf<N> extends infer F ? { readonly [K in keyof F]: KindsOfFields[F[K] & FieldKind] } : never;

type FormFields = Readonly<Record<string, FieldKind>>;

const MOST_PATHS = 200;

/** A reader for each kind. @throws MemoryError `invalid_command`, `invalid_path`. */
const READERS: { readonly [K in FieldKind]: (given: unknown, name: string) => KindsOfFields[K] } = {
  path: (given, name) => parseGivenPath(textIn(given, name)),
  text: textIn,
  version: (given, name) => (given === null ? undefined : textIn(given, name)),
  null(given, name) {
    if (given === null) return null;
    throw new MemoryError('invalid_command', `${name} must be a text.`);
  },
  paths(given, name) {
    if (Array.isArray(given) && given.length <= MOST_PATHS) {
      return given.map((each: unknown) => parseGivenPath(textIn(each, 'path')));
    }
    throw new MemoryError('invalid_command', `${name} must be a list of up to ${MOST_PATHS} paths.`);
  },
  listed(given, name) {
    if (Array.isArray(given) && given.every(isPair)) return new Map(given);
    throw new MemoryError('invalid_command', `${name} must be a list of paths with their versions.`);
  },
};

/**
 * Reads the fields of a question, one after the other.
 *
 * @throws MemoryError `invalid_command` for one that is missing or of another kind, and for one that the question does
 * not have; `invalid_path`.
 */
export function readFields<N extends QuestionName>(name: N, given: GivenFields): FieldsOf<N> {
  const form = formOf(QUESTIONS[name].forms, given);
  const fields = Object.entries(form).map(([field, kind]) => [field, READERS[kind](given[field], field)]);
  for (const [field, value] of Object.entries(given)) {
    if (value !== undefined && !Object.hasOwn(form, field)) {
      throw new MemoryError('invalid_command', `${field} is no field of this question.`);
    }
  }
  return Object.fromEntries(fields) as FieldsOf<N>;
}

/**
 * Finds the first form whose fields are all given, the last form otherwise. Null fits a field of the kind `null`, and
 * such a field alone.
 */
function formOf(forms: readonly FormFields[], given: GivenFields): FormFields {
  const fits = (form: FormFields): boolean =>
    Object.entries(form).every(
      ([field, kind]) => Object.hasOwn(given, field) && (given[field] === null) === (kind === 'null'),
    );
  return forms.find((form, index) => fits(form) || index === forms.length - 1) ?? {};
}

function textIn(given: unknown, name: string): string {
  if (typeof given === 'string') return given;
  throw new MemoryError('invalid_command', `${name} must be a text.`);
}

function isPair(given: unknown): given is readonly [string, string] {
  return Array.isArray(given) && given.length === 2 && given.every((part) => typeof part === 'string');
}
