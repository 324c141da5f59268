import { readKeyStatus } from '../admin/key-status.ts';
import { MemoryError } from '../errors.ts';
import { toBase64 } from '../format/encoding.ts';
import { fileKey } from '../format/object-keys.ts';
import { sealedSize } from '../format/sizes.ts';
import { createKeyringEditor } from '../keys/keyring-editor.ts';
import { parseCommand } from '../language/command.ts';
import { imageMediaType } from '../language/image.ts';
import { type MemoryPath, parseMemoryPath } from '../language/path.ts';
import { decodeText } from '../language/text.ts';
import { viewFile } from '../language/view.ts';
import { openTenant } from '../open/open-memory.ts';
import type { MemoryOptions } from '../open/options.ts';
import type { ConfiguredStore } from '../open/store.ts';
import { runCommand } from '../tool/commands.ts';
import { type Finding, isLeft } from '../tree/findings.ts';
import { openWork, type Progress } from '../tree/session.ts';
import { costed } from './costs.ts';
import type {
  DirectoryReading,
  Facts,
  FileReading,
  KeyReading,
  ObjectReading,
  SearchReading,
  VerifyReading,
} from './protocol.ts';
import type { Asking, Questions } from './questions.ts';
import { searchFiles } from './search-files.ts';
import { watchTree } from './watch-tree.ts';

/** One tenant's memory as the page asks for it. */
export interface TenantView extends AsyncDisposable {
  readonly questions: Questions;
}

/**
 * Opens the memory for reading alone: nothing is written to the store, not even what reading notes elsewhere. What is
 * mounted in it is left out.
 *
 * @param lineOf tells in a line, after a word on how bad it is, what was found and what to do about it.
 * @throws MemoryError as `openMemory`.
 */
export async function openTenantView(
  options: MemoryOptions,
  lineOf: (finding: Finding) => string,
): Promise<TenantView> {
  const { mounts: _, ...own } = options;
  // Requests are counted where something listens to events.
  const { parts, settings, close } = await openTenant({ onEvent: () => {}, ...own, readOnly: true });
  const { context, tree, rootKeys, guard } = parts;
  const { store, layout, maxFileBytes, clock, random } = context;
  try {
    await parts.reach();
  } catch (error) {
    await close();
    throw error;
  }
  const facts: Facts = {
    tenant: layout.tenant,
    store: placeOf(settings.store),
    keyPrefix: layout.data,
    maxBytes: maxFileBytes,
  };
  const editor = createKeyringEditor({ store, layout, rootKeys, guard, clock, random });

  const questions: Questions = {
    facts: async () => facts,
    watch: (_, asking) => watchTree(context, asking),
    file: costed<FileReading>(async (input, { signal }) => {
      const path = pathIn(input);
      const found = await tree.readVersion(path, { signal });
      if (found === undefined) throw new MemoryError('not_found', 'there is no file of that path');
      const { content, etag } = found;
      return { path, size: content.length, version: etag, content: contentOf(path, content) };
    }),
    directory: costed<DirectoryReading>(async (input, { signal }) => {
      const path = pathIn(input);
      const { profile, onExists } = settings;
      const command = parseCommand({ command: 'view', path });
      const reply = await runCommand({ tree, profile, onExists, options: { signal } }, command);
      return { path, reply: typeof reply === 'string' ? reply : '' };
    }),
    object: costed<ObjectReading>(async (input, { signal }) => {
      const path = pathIn(input);
      const work = await openWork(context, { signal });
      const key = work && fileKey(layout, work.keyring.names, path);
      const found = key && (await store.get(key, { maxBytes: sealedSize(maxFileBytes), signal }));
      if (typeof found !== 'object') throw new MemoryError('not_found', 'there is no object for that path');
      const { body, etag: version, lastModified: modified } = found;
      return { path, key: String(key), size: body.length, version, modified, base64: toBase64(body) };
    }),
    search: costed<SearchReading>((input, asking) => searchFiles(tree, textIn(input, 'text'), asking)),
    verify: costed<VerifyReading>(async (_, asking) => {
      const verification = await parts.verify({ signal: asking.signal, onProgress: progressTo(asking) });
      return { ...verification, findings: verification.findings.map(toldOf) };
    }),
    keys: costed<KeyReading>(async (_, { signal }) => ({
      status: await readKeyStatus({ rootKeys, editor, signal }),
    })),
  };
  return { questions, [Symbol.asyncDispose]: close };

  function toldOf(finding: Finding): VerifyReading['findings'][number] {
    const [, level = '', sentence = ''] = /^(\S+)\s+(.*)$/s.exec(lineOf(finding)) ?? [];
    const path = finding.kind === 'damaged' || finding.kind === 'clash' ? finding.path : undefined;
    return { level, sentence, isLeft: isLeft(finding), ...(path !== undefined && { path }) };
  }
}

function contentOf(path: MemoryPath, content: Uint8Array): FileReading['content'] {
  const type = imageMediaType(path, content);
  if (type !== undefined) return { kind: 'image', type, base64: toBase64(content) };
  const text = decodeText(content);
  return text === undefined
    ? { kind: 'bytes' }
    : { kind: 'text', text, reply: viewFile({ given: path, text }) };
}

/** Tells now and then how far a verification is; a page that reads slowly is not waited for. */
function progressTo({ send }: Asking): (progress: Progress) => void {
  let toldAt = 0;
  return ({ done, total }) => {
    const now = performance.now();
    if (now - toldAt < PROGRESS_PAUSE_MS) return;
    toldAt = now;
    send({ done, total }).catch(() => {});
  };
}

const PROGRESS_PAUSE_MS = 100;

function placeOf(store: ConfiguredStore): string {
  switch (store.kind) {
    case 's3':
      return `s3://${store.bucket}${store.prefix === '' ? '' : `/${store.prefix}`}`;
    case 'sqlite':
      return `sqlite:${store.path}`;
    case 'memory':
      return 'memory:';
    case 'opened':
      return 'a store of this process';
  }
}

function pathIn(input: Readonly<Record<string, unknown>>): MemoryPath {
  return parseMemoryPath(textIn(input, 'path'));
}

function textIn(input: Readonly<Record<string, unknown>>, name: string): string {
  const text = input[name];
  if (typeof text === 'string') return text;
  throw new MemoryError('invalid_command', `${name} must be a text.`);
}
