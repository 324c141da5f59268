import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';

/** What an object is called inside its authenticated data: a memory path, or `/<class>/<id>`. */
export type LogicalName = string & { readonly __brand: 'LogicalName' };

/** The kinds of objects beside the files of the tree. */
export const OBJECT_CLASSES = [
  'journal',
  'access',
  'receipts',
  'answers',
  'history',
  'actors',
  'conversations',
  'sessions',
] as const;
export type ObjectClass = (typeof OBJECT_CLASSES)[number];

const ID = /^[A-Za-z0-9_-]{1,64}$/;

export function logicalName(path: MemoryPath): LogicalName {
  return path as string as LogicalName;
}

/** Whether an object of a class can have that id: 1–64 characters of `[A-Za-z0-9_-]`. */
export function isObjectId(id: string): boolean {
  return ID.test(id);
}

/** @throws MemoryError `misconfigured` when the id is not 1–64 characters of `[A-Za-z0-9_-]`. */
export function classLogicalName(cls: ObjectClass, id: string): LogicalName {
  if (!isObjectId(id))
    throw new MemoryError('misconfigured', `the id of an object of class ${cls} is malformed`);
  return `/${cls}/${id}` as LogicalName;
}
