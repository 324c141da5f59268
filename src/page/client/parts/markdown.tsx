import { useEffect, useMemo, useState } from 'preact/hooks';

/** The parser is half of what the page loads, so that it comes with the first text in Markdown. */
const load = () => import('./markdown-elements.tsx');
let loaded: Awaited<ReturnType<typeof load>> | undefined;

/** A text in Markdown, made of elements. */
export function Markdown({ text }: { readonly text: string }) {
  const [parser, setParser] = useState(loaded);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    const keep = (module: typeof loaded): void => {
      loaded = module;
      setParser(module);
    };
    // It may have come between the rendering and now.
    if (loaded !== undefined) keep(loaded);
    else load().then(keep, () => setFailed(true));
  }, []);
  const children = useMemo(() => parser?.markdownElements(text), [parser, text]);
  if (hasFailed) {
    return (
      <p class="failure" role="alert">
        The text could not be laid out. Reload the page, or look at "Text".
      </p>
    );
  }
  return (
    <div class="markdown" aria-busy={parser === undefined}>
      {children}
    </div>
  );
}
