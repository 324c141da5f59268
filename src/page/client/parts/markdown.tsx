import { useEffect, useMemo, useState } from 'preact/hooks';

/** The parser is half of what the page loads, so that it comes with the first text in Markdown. */
const load = () => import('./markdown-elements.tsx');
let loaded: Awaited<ReturnType<typeof load>> | undefined;

/** A text in Markdown, made of elements. */
export function Markdown({ text }: { readonly text: string }) {
  const [parser, setParser] = useState(loaded);
  useEffect(() => {
    if (loaded !== undefined) return;
    const keep = (module: typeof loaded): void => {
      loaded = module;
      setParser(module);
    };
    // A server that is gone is told by the watch.
    load().then(keep, () => {});
  }, []);
  const children = useMemo(() => parser?.markdownElements(text), [parser, text]);
  return (
    <div class="markdown" aria-busy={parser === undefined}>
      {children}
    </div>
  );
}
