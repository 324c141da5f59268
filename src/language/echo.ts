import type { ErrorDetails } from '../errors.ts';
import { COMMAND_NAMES, type CommandName } from './command.ts';
import { PAGE_CHARACTERS } from './page.ts';
import { startOfText, wellFormed } from './text.ts';

/** Characters of a malformed value that a sentence repeats. */
const MALFORMED_CHARACTERS = 1_000;

/**
 * What a sentence may repeat of the model's input, whatever that input is: reading it never throws, and text comes
 * back well-formed so that it can be sent to the model.
 */
export interface Echo {
  readonly command: CommandName | undefined;
  /** A field's text as a sentence repeats it; empty when it holds none. */
  text(field: string): string;
  /** All of a field's text, to be judged. */
  whole(field: string): string;
  /** A field's value as JSON, shortened; a number in digits, nothing for an absent field. */
  json(field: string): string;
}

export function echoOf(input: unknown): Echo {
  const command = ownValue(input, 'command');
  const whole = (field: string): string => {
    const value = ownValue(input, field);
    return typeof value === 'string' ? value : '';
  };
  return {
    command: COMMAND_NAMES.find((name) => name === command),
    text: (field) => echoText(whole(field)),
    whole,
    json(field) {
      return shorten(jsonOf(ownValue(input, field)));
    },
  };
}

/**
 * What a sentence repeats of a text that the model gave: all of it, or as many of its lines as a page holds, or the
 * start of a longer line, and a note of its length.
 */
export function echoText(text: string): string {
  if (text.length <= PAGE_CHARACTERS) return wellFormed(text);
  const start = startOfText(text, PAGE_CHARACTERS);
  const lineEnd = text[start.length] === '\n' ? start.length : start.lastIndexOf('\n');
  return cutEcho(text, lineEnd > 0 ? start.slice(0, lineEnd) : start);
}

/** The text itself, or its first 1,000 characters and a note of its length. */
export function shorten(text: string): string {
  if (text.length <= MALFORMED_CHARACTERS) return wellFormed(text);
  return cutEcho(text, startOfText(text, MALFORMED_CHARACTERS));
}

function cutEcho(text: string, start: string): string {
  return `${wellFormed(start)}… (${text.length} characters)`;
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
