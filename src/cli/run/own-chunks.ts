import { close, constants, createReadStream, open as openFile } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

const LOOK_AGAIN_MS = 20;

/**
 * Reads the bytes of a file of the user's. Where it is a pipe, this waits for its writer until the signal fires.
 *
 * @throws Error of the file system; of the signal.
 */
export async function* ownChunks(file: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const found = await stat(file);
  if (!found.isFIFO()) {
    yield* createReadStream(file, { signal });
    return;
  }
  const fd = await openPipe(file, signal);
  // Unlike a stream of a file, a socket does not wait for the end of a read before it is closed.
  yield* new Socket({ fd, readable: true, writable: false, signal });
}

/**
 * Opens a pipe. Only its other end can end the wait: when the signal fires, this process opens the other end itself.
 */
async function openPipe(file: string, signal: AbortSignal): Promise<number> {
  let wakeUps: NodeJS.Timeout | undefined;
  const wakeUp = (): void => {
    wakeUps ??= setInterval(wakeUp, LOOK_AGAIN_MS);
    // Fails for as long as the opening has not begun.
    open(file, constants.O_WRONLY | constants.O_NONBLOCK).then(
      (end) => end.close(),
      () => {},
    );
  };
  signal.addEventListener('abort', wakeUp);
  if (signal.aborted) wakeUp();
  try {
    const fd = await promisify(openFile)(file, 'r');
    if (!signal.aborted) return fd;
    await promisify(close)(fd);
    throw signal.reason;
  } finally {
    signal.removeEventListener('abort', wakeUp);
    clearInterval(wakeUps);
  }
}
