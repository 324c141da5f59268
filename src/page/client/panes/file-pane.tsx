import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { countInvisible, visibleName } from '../../../language/invisible.ts';
import type { Facts, ResultOf, StoredFile } from '../../protocol.ts';
import type { FileDraft } from '../data/drafts.ts';
import { ROOT } from '../data/tree-rows.ts';
import { useAnswer } from '../data/use-answer.ts';
import type { UnseenReading } from '../data/use-unseen.ts';
import { type FileLook, LOOK_WORDS, NARROW, useScreen } from '../data/view-state.ts';
import { Markdown } from '../parts/markdown.tsx';
import { PaneName } from '../parts/pane-switch.tsx';
import { UnseenBanner } from '../parts/seen-text.tsx';
import { TextLines } from '../parts/text-lines.tsx';
import { bytesOf, counted, sizeWords } from '../parts/words.ts';
import { Editor } from './editor.tsx';
import { FileActs } from './file-acts.tsx';
import { Versions } from './versions.tsx';

type ShownContent = ResultOf<'file'>['content'];

interface FilePaneProps {
  readonly facts: Facts | undefined;
  readonly path: string;
  /** The version of the file; undefined for a directory, and where nothing lies. */
  readonly version: string | undefined;
  readonly isGone: boolean;
  readonly isReady: boolean;
  /** The files below a directory; none for a file. */
  readonly filesBelow: readonly StoredFile[];
  /** The line to which the text is scrolled. */
  readonly line: number | undefined;
  /** Differs from the one before where what is stored has changed. */
  readonly stamp: unknown;
  readonly look: FileLook | undefined;
  readonly onLook: (look: FileLook | undefined) => void;
  readonly draft: FileDraft | undefined;
  readonly onDraft: (path: string, draft: FileDraft | undefined) => void;
  readonly onThrow: (path: string) => void;
  readonly onOpen: (path: string) => void;
  readonly onUnseen: (readings: readonly UnseenReading[]) => void;
}

/** Shows what the holder of the key, and so the model, reads. */
export function FilePane(props: FilePaneProps) {
  const { facts, path, version, isGone, isReady, line, stamp, look: chosen, draft } = props;
  const isFile = version !== undefined;
  const isOn = isReady && !isGone && draft === undefined;
  const file = useAnswer('file', { path }, { stamp, isOn: isOn && isFile });
  const directory = useAnswer('directory', { path }, { stamp, isOn: isOn && !isFile });

  const content = file.value?.content;
  const shownText = draft?.text ?? (isOn && isFile && content?.kind === 'text' ? content.text : '');
  useEffect(() => {
    if (file.value === undefined || content?.kind !== 'text') return;
    props.onUnseen([{ ...file.value, unseen: countInvisible(content.text) }]);
  }, [file.value]);
  const looks = draft === undefined && (isFile || isGone) ? looksOf(path, content, facts) : [];
  const look = chosen !== undefined && looks.includes(chosen) ? chosen : looks[0];
  const failure = file.failure ?? directory.failure;
  const isNarrow = useScreen(NARROW);
  const hasGutter = facts?.keepsHistory === true && !isNarrow && look === 'text' && isOn && isFile;
  const reading = useAnswer('lines', { path }, { stamp: file.value?.version, isOn: hasGutter });
  const isSame = reading.value !== undefined && reading.value.version === file.value?.version;
  const writers = hasGutter ? (isSame && reading.value) || null : undefined;
  const writer = isFile ? file.value?.writer : undefined;
  return (
    <section class="pane file-pane" aria-label="What the model reads">
      <PaneName pane="file" />
      <div class="pane-head">
        <div class="pane-title">
          <h2 title={visibleName(path)}>
            <Crumbs path={path} onOpen={props.onOpen} />
          </h2>
          {facts?.canWrite && isReady && !isGone && draft === undefined && (
            <Acts {...props} content={content} />
          )}
        </div>
        <div class="pane-tools">
          <div class="looks" role="group" aria-label="How it is shown">
            {looks.map((each) => (
              <button
                type="button"
                key={each}
                aria-pressed={each === look}
                onClick={() => props.onLook(each)}
              >
                {LOOK_WORDS[each]}
              </button>
            ))}
          </div>
          {writer !== undefined && (
            <span class="writer dim" title={`Written by ${visibleName(writer)}`}>
              by {visibleName(writer)}
            </span>
          )}
        </div>
      </div>
      <div class="scroll" tabIndex={0} data-focus="file" role="region" aria-label="Content">
        {look !== 'versions' && <UnseenBanner text={shownText} />}
        {draft !== undefined && (
          <Editor
            key={path}
            {...{ path, draft, current: version }}
            keepsHistory={facts?.keepsHistory === true}
            onDraft={(next) => props.onDraft(path, next)}
            onThrow={() => props.onThrow(path)}
          />
        )}
        {draft === undefined && look === 'versions' && (
          <Versions {...{ path, stamp }} canWrite={facts?.canWrite === true} />
        )}
        {isOn && look !== 'versions' && (
          <>
            {failure && (
              <p class="failure" role="alert">
                {failure.message}
              </p>
            )}
            {directory.value && <TextLines text={directory.value.reply} isNumbered={false} />}
            {hasGutter && reading.failure && (
              <p class="empty">Who wrote which line is not known. {reading.failure.message}</p>
            )}
            {content && <Shown {...{ path, content, look, line, writers }} size={file.value?.size ?? 0} />}
          </>
        )}
        {isGone && draft === undefined && look !== 'versions' && (
          <div class="empty">
            <p>There is nothing at this path any more.</p>
            <p class="acts">
              {facts?.keepsHistory && (
                <button type="button" onClick={() => props.onLook('versions')}>
                  Show its versions
                </button>
              )}
              <button type="button" onClick={() => props.onOpen(ROOT)}>
                Show all files
              </button>
            </p>
          </div>
        )}
      </div>
    </section>
  );
}

/** The most directories of a path that are named one by one. */
const MOST_CRUMBS = 4;
/** A name of fewer UTF-16 units is never cut. */
const SHORT_CRUMB = 5;

/** Shows the path as crumbs, each of which leads to its directory. In a deep path those in the middle share one. */
function Crumbs({ path, onOpen }: { readonly path: string; readonly onOpen: (path: string) => void }) {
  const [name = '', ...above] = path.slice(1).split('/').reverse();
  const directories = above
    .reverse()
    .map((directory, index, all) => ({ directory, at: `/${all.slice(0, index + 1).join('/')}` }));
  const between = directories.slice(1, Math.max(1, directories.length - MOST_CRUMBS + 2));
  const inner = between.at(-1);
  const crumbs =
    between.length < 2 || inner === undefined
      ? directories
      : [...directories.slice(0, 1), { ...inner, directory: '…' }, ...directories.slice(1 + between.length)];
  return (
    <>
      {crumbs.map(({ directory, at }) => (
        <span key={at} class="crumb" data-short={directory.length < SHORT_CRUMB}>
          <span class="dim">/</span>
          <button type="button" title={visibleName(at)} onClick={() => onOpen(at)}>
            <bdi>{visibleName(directory)}</bdi>
          </button>
        </span>
      ))}
      <span class="dim">/</span>
      <bdi class="name">{visibleName(name)}</bdi>
    </>
  );
}

function looksOf(
  path: string,
  content: ShownContent | undefined,
  facts: Facts | undefined,
): readonly FileLook[] {
  const versions: readonly FileLook[] = facts?.isExport === false ? ['versions'] : [];
  if (content?.kind !== 'text') return ['shown', ...versions];
  return isMarkdown(path) ? ['read', 'text', 'reply', ...versions] : ['text', 'reply', ...versions];
}

function Acts({
  path,
  version,
  filesBelow,
  content,
  onDraft,
  onOpen,
}: FilePaneProps & { readonly content: ShownContent | undefined }) {
  const edit = (text: string): void => onDraft(path, { text, base: text, version: version ?? null });
  return (
    <FileActs
      key={path}
      {...{ path, onOpen }}
      version={version ?? null}
      files={filesBelow}
      onEdit={content?.kind === 'text' ? () => edit(content.text) : undefined}
      onNew={(at) => {
        onDraft(at, { text: '', base: '', version: null });
        onOpen(at);
      }}
    />
  );
}

function isMarkdown(path: string): boolean {
  return /\.(md|markdown)$/i.test(path);
}

function Shown({
  path,
  content,
  look,
  line,
  size,
  writers,
}: {
  readonly path: string;
  readonly content: ShownContent;
  readonly writers: ResultOf<'lines'> | null | undefined;
  readonly look: FileLook | undefined;
  readonly line: number | undefined;
  readonly size: number;
}) {
  switch (content.kind) {
    case 'image':
      return <Picture path={path} type={content.type} base64={content.base64} />;
    case 'bytes':
      return (
        <div class="picture">
          <Told path={path} base64={content.base64}>
            {sizeWords(size)} ({counted(size, 'byte')} that are neither UTF-8 text nor an image). The model is
            told so.
          </Told>
        </div>
      );
    case 'text':
      if (look === 'read') return <Markdown text={content.text} />;
      if (look === 'reply') return <TextLines text={content.reply ?? ''} isNumbered={false} />;
      return <TextLines text={content.text} isNumbered {...{ line, writers }} />;
  }
}

/** Tells the kind of a file that is no text, and lets the browser save it as it is. */
function Told({
  path,
  base64,
  children,
}: {
  readonly path: string;
  readonly base64: string;
  readonly children: ComponentChildren;
}) {
  const download = (): void => {
    // A blob without a type, so that no browser shows it in place of the page.
    const url = URL.createObjectURL(new Blob([bytesOf(base64)], { type: 'application/octet-stream' }));
    const link = document.createElement('a');
    Object.assign(link, { href: url, download: visibleName(path.slice(path.lastIndexOf('/') + 1)) });
    link.click();
    // A browser begins to read it after the click.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return (
    <p class="told">
      <span>{children}</span>
      <button type="button" class="act" onClick={download}>
        Download
      </button>
    </p>
  );
}

function Picture({
  path,
  type,
  base64,
}: {
  readonly path: string;
  readonly type: string;
  readonly base64: string;
}) {
  const image = useRef<HTMLImageElement>(null);
  const bytes = useMemo(() => bytesOf(base64), [base64]);
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    if (image.current !== null) image.current.src = url;
    return () => URL.revokeObjectURL(url);
  }, [bytes, type]);
  return (
    <figure class="picture">
      <figcaption>
        <Told {...{ path, base64 }}>
          {type}, {sizeWords(bytes.length)} ({counted(bytes.length, 'byte')})
        </Told>
      </figcaption>
      <img ref={image} alt={visibleName(path)} />
    </figure>
  );
}
