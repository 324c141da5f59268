import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { isForTheOperator, MemoryError } from '../errors.ts';
import { toBase64 } from '../format/encoding.ts';
import { imageMediaType } from '../language/image.ts';
import { MEMORY_ROOT, parseGivenPath } from '../language/path.ts';
import { failureSentence } from '../language/sentences.ts';
import { decodeText } from '../language/text.ts';
import { isoOf } from '../time.ts';
import type { FileStat, Files } from '../tool/files.ts';

const SCHEME = 'memory://';
const RESOURCES_PER_PAGE = 500;

interface ResourceOptions {
  /** Hears of failures that the operator must mend; the client reads a neutral sentence. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Lists the files as resources, such as `memory:///memories/notes.md`, in pages and the store's order, and reads them.
 */
export function serveResources(server: Server, files: Files, { onFailure }: ResourceOptions): void {
  const reading = async <T>(path: string, action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      throw failureOf(error, { path, onFailure });
    }
  };

  server.setRequestHandler('resources/list', ({ params }, { mcpReq: { signal } }) => {
    // A cursor is the address at which the page before ended.
    const after = params?.cursor === undefined ? undefined : pathOf(params.cursor);
    return reading(after ?? MEMORY_ROOT, async () => {
      const found: FileStat[] = [];
      const options = { recursive: true, signal, ...(after !== undefined && { after }) };
      for await (const entry of files.list(MEMORY_ROOT, options)) {
        if (entry.type === 'file') found.push(entry);
        if (found.length > RESOURCES_PER_PAGE) break;
      }
      const page = found.slice(0, RESOURCES_PER_PAGE);
      const last = found.length > page.length ? page.at(-1) : undefined;
      return {
        resources: page.map(({ path, size, modified }) => ({
          uri: uriOf(path),
          name: path.slice(MEMORY_ROOT.length + 1),
          size,
          annotations: { lastModified: isoOf(modified) },
        })),
        ...(last !== undefined && { nextCursor: uriOf(last.path) }),
      };
    });
  });

  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: `${SCHEME}${MEMORY_ROOT}/{+path}`, name: 'file', description: 'A file of the memory.' },
    ],
  }));

  server.setRequestHandler('resources/read', ({ params: { uri } }, { mcpReq: { signal } }) => {
    const path = pathOf(uri);
    return reading(path, async () => {
      const file = await files.read(path, { signal });
      if (file === undefined) throw new MemoryError('not_found', 'There is no file of that path.');
      return { contents: [{ uri, ...contentOf(file.path, file.bytes) }] };
    });
  });
}

function contentOf(
  path: string,
  bytes: Uint8Array,
): { mimeType: string } & ({ text: string } | { blob: string }) {
  const image = imageMediaType(parseGivenPath(path), bytes);
  if (image !== undefined) return { mimeType: image, blob: toBase64(bytes) };
  const text = decodeText(bytes);
  if (text === undefined) return { mimeType: 'application/octet-stream', blob: toBase64(bytes) };
  return { mimeType: path.endsWith('.md') ? 'text/markdown' : 'text/plain', text };
}

function uriOf(path: string): string {
  return `${SCHEME}${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Reads the path out of an address, decoding each segment once. The memory judges whether a file can lie there. */
function pathOf(uri: string): string {
  try {
    if (!uri.startsWith(SCHEME)) throw new URIError();
    const segments = uri.slice(SCHEME.length).split('/').map(decodeURIComponent);
    if (segments.some((segment) => segment.includes('/'))) throw new URIError();
    return segments.join('/');
  } catch {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `That is no address of a file in this memory: one looks like ${SCHEME}${MEMORY_ROOT}/notes.md.`,
    );
  }
}

/** Makes the error for the client, with the sentence that the model reads when a view of the path fails. */
function failureOf(
  error: unknown,
  { path, onFailure }: ResourceOptions & { readonly path: string },
): ProtocolError {
  if (!(error instanceof MemoryError) || isForTheOperator(error)) onFailure(error);
  if (!(error instanceof MemoryError)) {
    return new ProtocolError(ProtocolErrorCode.InternalError, 'The request failed unexpectedly.');
  }
  const isTheClients = error.code === 'not_found' || error.code === 'invalid_path';
  return new ProtocolError(
    isTheClients ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
    failureSentence({ error, input: { command: 'view', path }, wording: 'doc' }),
  );
}
