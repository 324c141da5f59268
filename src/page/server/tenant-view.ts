import { type Finding, weightOf } from '../../admin/findings.ts';
import { createOperatorVerbs } from '../../admin/operator-verbs.ts';
import { MemoryError, misconfigured } from '../../errors.ts';
import { toBase64 } from '../../format/encoding.ts';
import { fileKey } from '../../format/object-keys.ts';
import { sealedSize } from '../../format/sizes.ts';
import { createHistory } from '../../history/history.ts';
import { parseCommand } from '../../language/command.ts';
import { viewFile } from '../../language/view.ts';
import { openTenant } from '../../open/open-memory.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { wireTenant } from '../../open/wire-tenant.ts';
import type { ConfiguredStore } from '../../store/open-store.ts';
import { runCommand } from '../../tool/commands.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import { openWork } from '../../tree/tenant.ts';
import type { Facts, ResultOf } from '../protocol.ts';
import { type PageView, progressTo, QUESTION_BYTES, questionsOf } from './answer-questions.ts';
import { answerChanges } from './changes.ts';
import { contentOf } from './content.ts';
import { answerLines } from './line-writers.ts';
import { answerPlaces } from './places.ts';
import { answerCarryOut, answerPlan } from './plans.ts';
import { searchedTree, searchFiles } from './search-files.ts';
import { answerVersions, createWriterNames } from './versions.ts';
import { createWatches } from './watch-tree.ts';

/** The actor of what the page writes, for events and for the history. */
const PAGE_ACTOR = 'page';
/** The longest question that deletes a directory: it lists the files, some 80,000 of them. */
const LIST_BYTES = 8_388_608;

/**
 * Opens the memory for reading: nothing is written to the store, not even what reading notes elsewhere. With `canWrite`
 * what writes is opened beside it, by the first question that changes something; without it there are no such
 * questions. What is mounted in the memory is left out.
 *
 * @param lineOf tells in a line, after a word on how bad it is, what was found and what to do about it.
 * @throws MemoryError as `openMemory`; `misconfigured` where the options allow reading alone and `canWrite` is given.
 */
export async function openTenantView(
  options: MemoryOptions,
  {
    lineOf,
    canWrite = false,
  }: { readonly lineOf: (finding: Finding) => string; readonly canWrite?: boolean },
): Promise<PageView> {
  const { mounts: _, ...own } = options;
  if (canWrite && own.readOnly === true) {
    throw misconfigured(
      'The memory is configured for reading only: leave out --write, or change that setting.',
    );
  }
  // Requests are counted where something listens to events.
  const { parts, settings, base, close } = await openTenant({ onEvent: () => {}, ...own, readOnly: true });
  const { context, tree } = parts;
  const { store, layout, maxFileBytes } = context;
  try {
    await parts.reach();
  } catch (error) {
    await close();
    throw error;
  }
  const facts: Omit<Facts, 'keepsHistory'> = {
    tenant: layout.tenant,
    store: placeOf(settings.store),
    keyPrefix: layout.data,
    maxBytes: maxFileBytes,
    canWrite,
    isExport: false,
  };
  const names = createWriterNames(context);
  const history = createHistory(context, tree, { retentionDays: settings.history.days });
  const operator = createOperatorVerbs(context, parts);

  let writing: Promise<Memory> | undefined;
  const openToWrite = async (): Promise<Memory> => {
    const writer = await wireTenant({
      settings: { ...settings, readOnly: false },
      base,
      tenant: layout.tenant,
    });
    return writer.openMemory(async () => writer.wipe(), { actor: PAGE_ACTOR });
  };
  const openOnce = (): Promise<Memory> => {
    writing ??= openToWrite();
    return writing;
  };

  const watches = createWatches(context);
  const ending = new AbortController();
  watches.lookAhead(ending.signal);

  const questions = questionsOf({
    ...answerPlaces(),
    ...answerVersions(history, { tree, names }),
    ...answerLines(history, tree),
    ...answerPlan(history),
    ...(canWrite && {
      ...answerChanges(tree, { open: openOnce, onChanged: watches.nudge }),
      ...answerCarryOut({ open: openOnce, onChanged: watches.nudge }),
    }),
    async facts(_, { signal }) {
      // A keyring that cannot be read is told by the watch.
      const state = await history.state({ signal }).catch(() => 'absent');
      return { ...facts, keepsHistory: state === 'on' };
    },
    watch: (fields, asking) => watches.watch('id' in fields ? fields.id : '', asking),
    async attend({ id, paths }) {
      watches.attend(id, paths);
      return {};
    },
    async file({ path }, { signal }) {
      const found = await tree.readVersion(path, { signal });
      if (found === undefined) throw new MemoryError('not_found', 'there is no file of that path');
      const writer = await names.nameOf(found.writer, signal);
      const { content: bytes, etag: version } = found;
      const content = contentOf(path, bytes);
      const reply = content.kind === 'text' && { reply: viewFile({ given: path, text: content.text }) };
      return {
        path,
        size: bytes.length,
        version,
        content: { ...content, ...reply },
        ...(writer !== undefined && { writer }),
      };
    },
    async directory({ path }, { signal }) {
      const { wording, onExists } = settings;
      const command = parseCommand({ command: 'view', path });
      const reply = await runCommand({ tree, wording, onExists, options: { signal } }, command);
      return { path, reply: typeof reply === 'string' ? reply : '' };
    },
    async object({ path }, { signal }) {
      const work = await openWork(context, { signal });
      const key = work && fileKey(layout, work.keyring.names, path);
      const found = key && (await store.get(key, { maxBytes: sealedSize(maxFileBytes), signal }));
      if (typeof found !== 'object') throw new MemoryError('not_found', 'there is no object for that path');
      const { body, etag: version, lastModified: modified } = found;
      return { path, key: String(key), size: body.length, version, modified, base64: toBase64(body) };
    },
    search: ({ text }, asking) => searchFiles(searchedTree(tree), text, asking),
    async verify(_, asking) {
      const verification = await parts.verify({ signal: asking.signal, onProgress: progressTo(asking) });
      const { files, bytes, findings } = verification;
      return { files, bytes, findings: findings.map(toldOf) };
    },
    keys: async (_, { signal }) => ({ status: await operator.keyStatus({ signal }) }),
  });
  return {
    questions,
    // Two texts of a file, each of them twice, as quotation marks and line breaks take two characters.
    maxQuestionBytes: QUESTION_BYTES + (canWrite ? Math.max(4 * maxFileBytes, LIST_BYTES) : 0),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await (await writing)?.close();
      await close();
    },
  };

  function toldOf(finding: Finding): ResultOf<'verify'>['findings'][number] {
    const [, level = '', sentence = ''] = /^(\S+)\s+(.*)$/s.exec(lineOf(finding)) ?? [];
    const path = finding.kind === 'damaged' || finding.kind === 'clash' ? finding.path : undefined;
    return { level, sentence, isLeft: weightOf(finding) !== 'settled', ...(path !== undefined && { path }) };
  }
}

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
