import { isDamaged } from '../errors.ts';

/** Stands for what `files.stat` refuses as damaged, for who would only delete it. @throws any other failure. */
export function damagedFile(error: unknown): { readonly type: 'file' } {
  if (isDamaged(error)) return { type: 'file' };
  throw error;
}
