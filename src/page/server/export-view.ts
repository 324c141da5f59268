import { MemoryError } from '../../errors.ts';
import { createDirectoryView } from '../../language/listing.ts';
import { isWithin, MEMORY_ROOT, type MemoryPath } from '../../language/path.ts';
import { viewFile } from '../../language/view.ts';
import { untilAborted } from '../../time.ts';
import type { Facts } from '../protocol.ts';
import { type PageView, QUESTION_BYTES, questionsOf } from './answer-questions.ts';
import { contentOf } from './content.ts';
import { answerPlaces } from './places.ts';
import { searchFiles } from './search-files.ts';

/** The version of every file of an export. */
const EXPORTED = 'exported';

/** A file of an export. */
interface ExportedFile {
  /** The path in the memory, or below `/memories` where only a part was exported. */
  readonly path: MemoryPath;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** @throws MemoryError `limit_exceeded` for one that is too large to be shown. */
  read(): Promise<Uint8Array>;
}

export interface ExportedFiles {
  readonly files: readonly ExportedFile[];
  /** Entries that are no files of a memory. */
  readonly foreign: number;
}

/** Opens an export for a page: nothing is sealed, watched or written, and there are no versions. */
export function openExportView(
  { files, foreign }: ExportedFiles,
  { name, maxBytes }: { readonly name: string; readonly maxBytes: number },
): PageView {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const read = async (path: MemoryPath): Promise<Uint8Array> => {
    const file = byPath.get(path);
    if (file === undefined) throw new MemoryError('not_found', 'There is no file of that path.');
    return file.read();
  };
  const facts: Facts = {
    tenant: name,
    store: 'An export, in plain text',
    keyPrefix: '',
    maxBytes,
    canWrite: false,
    keepsHistory: false,
    isExport: true,
  };
  const questions = questionsOf({
    ...answerPlaces(),
    facts: async () => facts,
    async watch(_, { signal, send }) {
      const changed = files.map(({ path, size, modified }) => ({
        path,
        size,
        modified,
        stored: size,
        version: EXPORTED,
        key: '',
      }));
      await send({
        whole: true,
        isPartial: false,
        changed,
        removed: [],
        foreign,
        everyMs: 0,
        restMs: 0,
        requests: {},
      });
      return untilAborted(new Promise<never>(() => {}), signal);
    },
    async file({ path }) {
      const bytes = await read(path);
      const content = contentOf(path, bytes);
      const reply = content.kind === 'text' && { reply: viewFile({ given: path, text: content.text }) };
      return {
        path,
        size: bytes.length,
        version: EXPORTED,
        content: { ...content, ...reply },
      };
    },
    async directory({ path }) {
      const view = createDirectoryView(path);
      view.add(files.filter((file) => path === MEMORY_ROOT || isWithin(file.path, path)));
      return { path, reply: view.reply({ given: path }) };
    },
    search({ text }, asking) {
      const places = {
        paths: async () => files.map(({ path }) => path),
        read: async (path: MemoryPath) => ({ content: await read(path), version: EXPORTED }),
      };
      return searchFiles(places, text, asking);
    },
  });
  return { questions, maxQuestionBytes: QUESTION_BYTES, async [Symbol.asyncDispose]() {} };
}
