import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { DirectoryReading, FileReading, Requests } from '../protocol.ts';
import { Markdown } from './markdown.tsx';
import { PaneSwitch } from './pane-switch.tsx';
import { TextLines } from './text-lines.tsx';
import { useAnswer } from './use-answer.ts';
import type { Pane } from './view-state.ts';
import { bytesOf, counted, visible } from './words.ts';

type Look = 'read' | 'text' | 'reply';

const LOOKS: Readonly<Record<Look, string>> = { read: 'Read', text: 'Text', reply: 'As Claude reads it' };

interface FilePaneProps {
  readonly path: string;
  readonly isFile: boolean;
  readonly isGone: boolean;
  readonly isReady: boolean;
  /** To be shown first. */
  readonly line: number | undefined;
  /** Another one: what is stored has changed. */
  readonly stamp: unknown;
  readonly onSpend: (requests: Requests) => void;
  readonly onPane: (pane: Pane) => void;
}

/** What the holder of the key, and so the model, reads. */
export function FilePane(props: FilePaneProps) {
  const { path, isFile, isGone, isReady, line, stamp, onSpend, onPane } = props;
  const isOn = isReady && !isGone;
  const file = useAnswer<FileReading>('file', { path, stamp, isOn: isOn && isFile, onSpend });
  const directory = useAnswer<DirectoryReading>('directory', { path, stamp, isOn: isOn && !isFile, onSpend });
  const [chosen, choose] = useState<Look>();
  useEffect(() => choose(line === undefined ? undefined : 'text'), [path, line]);

  const content = file.value?.content;
  const looks: readonly Look[] =
    content?.kind === 'text' ? (isMarkdown(path) ? ['read', 'text', 'reply'] : ['text', 'reply']) : [];
  const look = chosen !== undefined && looks.includes(chosen) ? chosen : looks[0];
  const failure = file.failure ?? directory.failure;
  return (
    <section class="pane file-pane" aria-label="What the model reads">
      <PaneSwitch current="file" onPane={onPane} />
      <div class="pane-head">
        <h2 title={visible(path)}>
          <bdi>{visible(path)}</bdi>
        </h2>
        <div class="looks" role="group" aria-label="How it is shown">
          {looks.map((each) => (
            <button type="button" key={each} aria-pressed={each === look} onClick={() => choose(each)}>
              {LOOKS[each]}
            </button>
          ))}
        </div>
      </div>
      <div class="scroll content" tabIndex={0} data-focus="file" role="region" aria-label="Content">
        {isGone && <p class="empty">There is nothing at this path any more.</p>}
        {!isGone && failure && (
          <p class="failure" role="alert">
            {failure.message}
          </p>
        )}
        {!isGone && directory.value && <TextLines text={directory.value.reply} isNumbered={false} />}
        {!isGone && content && <Content {...{ path, content, look, line }} size={file.value?.size ?? 0} />}
      </div>
    </section>
  );
}

function isMarkdown(path: string): boolean {
  return /\.(md|markdown)$/i.test(path);
}

function Content({
  path,
  content,
  look,
  line,
  size,
}: {
  readonly path: string;
  readonly content: FileReading['content'];
  readonly look: Look | undefined;
  readonly line: number | undefined;
  readonly size: number;
}) {
  switch (content.kind) {
    case 'image':
      return <Picture path={path} type={content.type} base64={content.base64} />;
    case 'bytes':
      return (
        <p class="empty">
          {counted(size, 'byte')} that are neither UTF-8 text nor an image. The model is told so.
        </p>
      );
    case 'text':
      if (look === 'read') return <Markdown text={content.text} />;
      if (look === 'reply') return <TextLines text={content.reply} isNumbered={false} />;
      return <TextLines text={content.text} isNumbered line={line} />;
  }
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
        {type}, {counted(bytes.length, 'byte')}
      </figcaption>
      <img ref={image} alt={visible(path)} />
    </figure>
  );
}
