import { appendFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { reportOnce } from '../listeners.ts';
import type { Logger } from '../logger.ts';
import { createWatch, type EventHandler, type MemoryEvent, type Watch } from '../tool/watch.ts';
import type { Settings } from './options/settings.ts';

/** The most characters of JSON that wait for a file; events beyond are dropped. */
const MOST_WAITING = 1_048_576;

/** The handlers by their files' paths, so that the lines of all memories of the process follow one another. */
const files = new Map<string, EventHandler>();

/** Opens the watch that tells the settings' handler, or the file that they name, about the commands of a tenant. */
export function openWatch(
  { onEvent, eventPaths }: Pick<Settings, 'onEvent' | 'eventPaths'>,
  { tenant, logger }: { readonly tenant: string; readonly logger: Logger },
): Watch | undefined {
  if (onEvent === undefined) return undefined;
  const handler = typeof onEvent === 'string' ? fileAt(onEvent) : onEvent;
  return createWatch({
    tenant,
    showsPaths: eventPaths,
    handler,
    onFailure() {
      reportOnce(handler, () =>
        logger.warn('an event was lost: what onEvent names did not take it; of others nothing is said'),
      );
    },
  });
}

function fileAt(given: string): EventHandler {
  const path = resolve(given);
  const known = files.get(path) ?? appendTo(path);
  files.set(path, known);
  return known;
}

/**
 * Makes a handler that appends a line of JSON for each event; events that come while the file is written go there
 * together.
 */
function appendTo(path: string): EventHandler {
  let waiting = '';
  let writing: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    while (waiting !== '') {
      const lines = waiting;
      waiting = '';
      await appendFile(path, lines, { mode: 0o600 });
    }
  };
  return async (event: MemoryEvent) => {
    if (waiting.length > MOST_WAITING) throw new Error('too many events wait');
    waiting += `${JSON.stringify(event)}\n`;
    writing ??= write().finally(() => {
      writing = undefined;
    });
    await writing;
  };
}
