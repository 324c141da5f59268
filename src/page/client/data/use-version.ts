import { useEffect, useState } from 'preact/hooks';
import { ask, Refused } from './ask.ts';

interface Version {
  readonly text?: string;
  readonly failure?: string;
}

const NONE: Version = {};

/** The text of a version, which never changes. */
export function useVersion({
  path,
  version,
}: {
  readonly path: string;
  /** Undefined: nothing is asked. */
  readonly version: string | undefined;
}): Version {
  const [read, setRead] = useState<Version & { readonly version?: string }>(NONE);
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
        if (ending.signal.aborted || !(error instanceof Refused)) return;
        setRead({ version, failure: error.message });
      },
    );
    return () => ending.abort();
  }, [path, version]);
  return version !== undefined && read.version === version ? read : NONE;
}
