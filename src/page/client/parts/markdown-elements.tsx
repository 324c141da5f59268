import MarkdownIt, { type Token } from 'markdown-it';
import { type ComponentChild, h, isValidElement } from 'preact';
import { visibleName } from '../../../language/invisible.ts';
import { NearPart, partsOf } from './near-part.tsx';
import { SeenText } from './seen-text.tsx';

/**
 * Leaves HTML in a text as text, and makes no links of addresses: the page names what they lead to, and never asks for
 * it.
 */
const parser = new MarkdownIt({ html: false, linkify: false, typographer: false });

/** Elements that a text may become; any other kind of token shows as its text. */
const ELEMENTS: ReadonlySet<string> = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol li blockquote em strong s table thead tbody tr th td hr br'.split(' '),
);

/** Makes the elements of a text in Markdown: at no point is it HTML. */
export function markdownElements(text: string): ComponentChild[] {
  return inParts(elementsOf(parser.parse(text, {})), 'div', 40);
}

interface Opened {
  readonly token: Token | undefined;
  readonly children: ComponentChild[];
}

function elementsOf(tokens: readonly Token[]): ComponentChild[] {
  const outermost: Opened = { token: undefined, children: [] };
  const opened: Opened[] = [outermost];
  for (const token of tokens) {
    const current = opened.at(-1) ?? outermost;
    if (token.nesting === 1) {
      opened.push({ token, children: [] });
    } else if (token.nesting === -1) {
      const closed = opened.length > 1 ? opened.pop() : undefined;
      (opened.at(-1) ?? outermost).children.push(...(closed ? wrapped(closed) : []));
    } else {
      current.children.push(...single(token));
    }
  }
  return outermost.children;
}

function wrapped({ token, children }: Opened): ComponentChild[] {
  if (token === undefined || token.hidden) return children;
  if (token.tag === 'a') {
    const address = String(token.attrGet('href') ?? '');
    return [
      <span class="link" title={visibleName(address)}>
        {children}
      </span>,
    ];
  }
  if (!ELEMENTS.has(token.tag)) return children;
  const start = token.tag === 'ol' ? Number(token.attrGet('start') ?? 1) : undefined;
  switch (token.tag) {
    case 'p':
      return [h('p', {}, linesInParts(children))];
    case 'table':
      // A long table is as wide as the text, so that it scrolls with it.
      return children.length > SHORT_TABLE
        ? [<table data-long={true}>{children}</table>]
        : [
            <div class="wide" role="group" aria-label="Table" tabIndex={0}>
              <table data-long={false}>{children}</table>
            </div>,
          ];
    case 'tbody':
      if (children.length > MOST_TOGETHER) return inParts(children, 'tbody', 37);
      break;
    case 'ul':
    case 'ol':
      if (children.length > MOST_TOGETHER) return inParts(children, token.tag, 25, start);
      break;
  }
  return [h(token.tag, start === undefined ? {} : { start }, children)];
}

/** Puts the lines of a paragraph into parts where they are many. */
function linesInParts(children: readonly ComponentChild[]): ComponentChild[] {
  if (children.length <= MOST_TOGETHER) return [...children];
  const lines: ComponentChild[][] = [[]];
  for (const child of children) {
    lines.at(-1)?.push(child);
    if (isValidElement(child) && child.type === 'br') lines.push([]);
  }
  return inParts(lines, 'span', 23);
}

/** More children of one element than these are laid out in parts, as they are scrolled to. */
const MOST_TOGETHER = 200;
/** A table with a head and one body. */
const SHORT_TABLE = 2;

/** Puts children into parts where they are many. `height`: the likely one of a child in pixels. */
function inParts(
  children: readonly ComponentChild[],
  tag: 'div' | 'span' | 'tbody' | 'ul' | 'ol',
  height: number,
  start?: number,
): ComponentChild[] {
  if (children.length <= MOST_TOGETHER) return [...children];
  let before = 0;
  return partsOf(children).map((part) => {
    const first = start === undefined ? undefined : start + before;
    before += part.length;
    return (
      <NearPart key={before} tag={tag} start={first} height={part.length * height}>
        {() => [...part]}
      </NearPart>
    );
  });
}

function single(token: Token): ComponentChild[] {
  switch (token.type) {
    case 'inline':
      return elementsOf(token.children ?? []);
    case 'code_inline':
      return [
        <code>
          <SeenText text={token.content} />
        </code>,
      ];
    case 'fence':
    case 'code_block':
      return [
        <pre tabIndex={0}>
          <code>
            <SeenText text={token.content} />
          </code>
        </pre>,
      ];
    // Notes are lines: each stays one.
    case 'softbreak':
    case 'hardbreak':
      return [<br />];
    case 'hr':
      return [<hr />];
    case 'image':
      return [
        <span class="link" title={visibleName(String(token.attrGet('src') ?? ''))}>
          Image: {token.content ? <SeenText text={token.content} /> : 'without a name'}
        </span>,
      ];
    default:
      return [<SeenText text={token.content} />];
  }
}
