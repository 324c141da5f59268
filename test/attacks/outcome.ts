import { S3ServiceException } from '@aws-sdk/client-s3';
import { MemoryError } from '../../src/errors.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';

interface SdkStream {
  transformToString(encoding: string): Promise<string>;
}

/** The outcome of one attempt: a refusal under some name, or whatever the attempt got. */
export type Outcome = { readonly refusedAs: string } | { readonly got: string };

/** A command of the library; what the model may read is what it got. */
export async function execute(memory: Memory, input: unknown): Promise<Outcome> {
  const result = await memory.execute(input);
  return result.isError ? { refusedAs: result.error.code } : { got: String(result.content) };
}

export const view = (memory: Memory, path: string): Promise<Outcome> =>
  execute(memory, { command: 'view', path });

/** A command in a process of its own, which ends with it. */
export async function executeAnew(open: () => Promise<Memory>, input: unknown): Promise<Outcome> {
  await using memory = await open();
  return await execute(memory, input);
}

/** A request to the server itself: refused is what it answers with 403, and nothing else. */
export async function request(send: () => Promise<object | undefined>): Promise<Outcome> {
  try {
    const { Body: body, ...answer } = ((await send()) ?? {}) as { readonly Body?: SdkStream };
    return { got: JSON.stringify({ ...answer, body: await body?.transformToString('base64') }) };
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 403) {
      return { refusedAs: 'access_denied' };
    }
    throw error;
  }
}

/** A call of the library that throws what it refuses. */
export async function call(run: () => unknown): Promise<Outcome> {
  try {
    return { got: String(await run()) };
  } catch (error) {
    if (error instanceof MemoryError) return { refusedAs: error.code };
    throw error;
  }
}
