import type { ErrorDetails } from '../errors.ts';
import { COMMAND_NAMES, type CommandName } from './command.ts';
import { startOfText, wellFormed } from './text.ts';

/** Characters of a refused value that a sentence repeats. */
const ECHO_CHARACTERS = 1_000;

/**
 * What a sentence may repeat of the model's input, whatever that input is: reading it never throws, and text comes
 * back well-formed so that it can be sent to the model.
 */
export interface Echo {
  readonly command: CommandName | undefined;
  /** A field's text, verbatim; empty when it holds none. */
  text(field: string): string;
  /** A field's value as JSON, shortened; a number in digits, nothing for an absent field. */
  json(field: string): string;
}

export function echoOf(input: unknown): Echo {
  const command = ownValue(input, 'command');
  return {
    command: COMMAND_NAMES.find((name) => name === command),
    text(field) {
      const value = ownValue(input, field);
      return typeof value === 'string' ? wellFormed(value) : '';
    },
    json(field) {
      return shorten(jsonOf(ownValue(input, field)));
    },
  };
}

/** The text itself, or its first 1,000 characters and a note of its length. */
export function shorten(text: string): string {
  if (text.length <= ECHO_CHARACTERS) return wellFormed(text);
  return `${wellFormed(startOfText(text, ECHO_CHARACTERS))}… (${text.length} characters)`;
}

/** A number of an error's details in digits, or a question mark where it is not known. */
export function amountOf(details: ErrorDetails, name: string): string {
  const value = details[name];
  return typeof value === 'number' ? String(value) : '?';
}

function ownValue(input: unknown, field: string): unknown {
  try {
    if (typeof input !== 'object' || input === null || !Object.hasOwn(input, field)) return undefined;
    return Reflect.get(input, field);
  } catch {
    return undefined;
  }
}

function jsonOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}
