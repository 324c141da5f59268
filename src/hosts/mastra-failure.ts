import * as mastra from '@mastra/core/workspace';
import { hasReason, type MemoryError } from '../errors.ts';
import { failureSentence } from '../language/sentences.ts';

/**
 * The operations of Mastra's filesystems, as its errors name them, each with the command whose sentences tell why one
 * failed.
 */
const OPERATIONS = {
  readFile: 'view',
  readdir: 'view',
  stat: 'view',
  writeFile: 'create',
  appendFile: 'create',
  mkdir: 'create',
  copyFile: 'create',
  moveFile: 'rename',
  deleteFile: 'delete',
  rmdir: 'delete',
} as const;

export type Operation = keyof typeof OPERATIONS;

export function isReading(operation: Operation): boolean {
  return OPERATIONS[operation] === 'view';
}

/** Makes Mastra's error for a failure of the last of `paths`; it tells only the facts that the model may read. */
export function failureOf(
  error: MemoryError,
  operation: Operation,
  paths: readonly [string, ...string[]],
): Error {
  const [path] = paths;
  const target = paths.at(-1) ?? path;
  return Object.assign(failure(), { cause: error });

  function failure(): Error {
    switch (error.code) {
      case 'not_found':
        return new mastra.FileNotFoundError(path);
      case 'already_exists':
        return hasReason(error, 'below_file')
          ? new mastra.NotDirectoryError(target)
          : new mastra.FileExistsError(target);
      case 'is_directory':
        return new mastra.IsDirectoryError(target);
      case 'invalid_path':
      case 'read_only':
      case 'access_denied':
        return new mastra.PermissionError(target, error.code === 'invalid_path' ? 'access' : operation);
      default: {
        const input = { command: OPERATIONS[operation], path: target, old_path: path, new_path: target };
        const sentence = failureSentence({ error, input, wording: 'doc' }).replace(/^Error: /, '');
        return new mastra.FilesystemError(sentence, error.code.toUpperCase(), target);
      }
    }
  }
}
