import type { ErrorDetails } from '../errors.ts';
import { amountOf } from './echo.ts';

/** Which limit was met (`limit_exceeded`), by how much, and what the model can do about it. */
export function limitSentence(details: ErrorDetails, path: string): string {
  const value = amountOf(details, 'value');
  const max = amountOf(details, 'max');
  switch (details['limit']) {
    case 'file_bytes':
      return `The file ${path} would have ${value} bytes, but at most ${max} bytes are allowed in one file: shorten it or split it into several files`;
    case 'files':
      return `The memory would have ${value} files, but at most ${max} are allowed: delete or merge files first`;
    case 'tenant_bytes':
      return `The memory would have ${value} bytes in total, but at most ${max} bytes are allowed: delete or shorten files first`;
    case 'object_bytes':
      return `The file ${path} is too large to be handled: it has ${value} bytes as stored, and at most ${max} are allowed`;
    case 'text_bytes':
      return `The file ${path} is too large to be handled as text: it has ${value} bytes, and a text has at most ${max} characters. Rename or delete it, and split its text into several files`;
    case 'text_characters':
      return `The file ${path} would have ${value} characters, but a text has at most ${max}: shorten it or split it into several files`;
    default:
      return `A limit of the memory would be exceeded by ${path}: ${value} where at most ${max} is allowed. Use less, or delete what is not needed`;
  }
}
