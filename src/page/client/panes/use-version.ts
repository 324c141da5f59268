import { useEffect, useState } from 'preact/hooks';
import { ask } from '../data/ask.ts';
import { QuestionRefused } from '../data/post.ts';

interface VersionText {
  readonly text?: string;
  readonly failure?: string;
}

const NONE: VersionText = {};

/** The text of a version, which never changes. */
export function useVersion({
  path,
  version,
}: {
  readonly path: string;
  /** The version to ask for; none where it is undefined. */
  readonly version: string | undefined;
}): VersionText {
  const [read, setRead] = useState<VersionText & { readonly version?: string }>(NONE);
  useEffect(() => {
    if (version === undefined) return undefined;
    const ending = new AbortController();
    ask('version', { path, version }, { signal: ending.signal }).then(
      ({ content }) => {
        if (ending.signal.aborted) return;
        setRead(
          content.kind === 'text'
            ? { version, text: content.text }
            : { version, failure: 'It is no text, so there are no lines to compare.' },
        );
      },
      (error: unknown) => {
        if (ending.signal.aborted || !(error instanceof QuestionRefused)) return;
        setRead({ version, failure: error.message });
      },
    );
    return () => ending.abort();
  }, [path, version]);
  return version !== undefined && read.version === version ? read : NONE;
}
