import { existsSync, readFileSync } from 'node:fs';
import { hasReason, MemoryError, type MemoryErrorCode, misconfigured } from '../errors.ts';

/** What to do next, where the message of a failure does not say it itself. */
const REMEDIES: Partial<Record<MemoryErrorCode, string>> = {
  integrity: 'the keyring is not what this root key sealed for this tenant; restore it from a backup',
  unsupported_format: 'use the version of sealed-memory that wrote it',
};

/** The message of a failure to open a memory, with what the operator does next. */
export function withRemedy({ code, message }: MemoryError): string {
  const remedy = REMEDIES[code];
  return remedy === undefined ? message : `${message.replace(/\.$/, '')}: ${remedy}.`;
}

/** The failure to open a memory as its caller reads it. */
export function openingFailure(error: unknown, nameOf: (option: string) => string): unknown {
  if (hasReason(error, 'name_mode')) {
    const { code, message, details } = error;
    return new MemoryError(code, message.replace('set names', `set ${nameOf('names')}`), { details });
  }
  if (!(error instanceof MemoryError) || REMEDIES[error.code] === undefined) return error;
  const { code, details, retry, cause } = error;
  return new MemoryError(code, withRemedy(error), { details, retry, cause });
}

/**
 * The failure of an option that is missing. Where it was to come from the environment, it names the settings of this folder
 * that have it, which the program was not given.
 */
export function notSet(name: string, what: string): MemoryError {
  const variables = name.match(/SEALED_MEMORY_\w+/g) ?? [];
  const remedies = variables.length > 0 ? ungivenSettings(variables) : [];
  return misconfigured([`${name} is not set${what}`, ...remedies].join(' '));
}

function ungivenSettings(variables: readonly string[]): readonly string[] {
  if (new RegExp(`^\\s*(?:export\\s+)?(?:${variables.join('|')})\\s*=`, 'm').test(textOf('.env'))) {
    return [
      'Node does not read the .env of this folder by itself: start the program with "node --env-file=.env".',
    ];
  }
  if (!existsSync('.sealed-memory/config.toml')) return [];
  return [
    'The .sealed-memory/config.toml of this folder is for the command line alone: write the same settings into .env, ' +
      'and start the program with "node --env-file=.env".',
  ];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
