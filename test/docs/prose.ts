import { readFileSync } from 'node:fs';
import type { Root, RootContent } from 'mdast';
import { toNlcst } from 'mdast-util-to-nlcst';
import { toString as plain } from 'nlcst-to-string';
import { parseSync } from 'oxc-parser';
import { ParseEnglish } from 'parse-english';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';
import { VFile } from 'vfile';

/** A sentence, the line of its file where it begins, from 1, and how many words it has. A piece of code is one word. */
export interface Sentence {
  readonly line: number;
  readonly words: number;
  readonly text: string;
}

/** A comment, without the marks around it, and the line of its file where it begins, from 1. */
export interface Comment {
  readonly line: number;
  readonly text: string;
}

/** The words at whose head a comment or a sentence has its subject behind its condition, so that a reader turns it around. */
export const TURNED_BEGINNING = /^(?:Of|What|Whether|Where|By|So|Nor)\b(?! course\b)/;

const markdown = unified().use(remarkParse).use(remarkGfm);

/** Every sentence of a text in Markdown, in paragraphs, lists and cells of tables; headings and code are left out. */
export function sentencesOf(source: string): readonly Sentence[] {
  const file = new VFile(source);
  const sentences: Sentence[] = [];
  visit(markdown.parse(file), (node) => {
    if (node.type !== 'paragraph' && node.type !== 'tableCell') return;
    const paragraph: Root = { type: 'root', children: [paragraphOf(node)] };
    if (node.position !== undefined) paragraph.position = node.position;
    visit(toNlcst(paragraph, file, ParseEnglish), 'SentenceNode', (sentence) => {
      const words = sentence.children.filter(
        ({ type }) => type === 'WordNode' || type === 'SourceNode',
      ).length;
      const text = plain(sentence).replaceAll(/\s+/g, ' ');
      sentences.push({ line: sentence.position?.start.line ?? 0, words, text });
    });
  });
  return sentences;
}

function paragraphOf(node: Extract<RootContent, { type: 'paragraph' | 'tableCell' }>): RootContent {
  const { children, position } = node;
  return position === undefined ? { type: 'paragraph', children } : { type: 'paragraph', children, position };
}

/**
 * Every comment of a source file, a run of line comments as one; what is said to a tool (`biome-ignore`, `@ts-…`) is
 * left out.
 */
export function commentsOf(path: string): readonly Comment[] {
  const source = readFileSync(path, 'utf8');
  const comments: { line: number; text: string }[] = [];
  let lineAfter = 0;
  for (const { type, value, start } of parseSync(path, source).comments) {
    const line = source.slice(0, start).split('\n').length;
    const text = value.replaceAll(/^\s*\*+ ?/gm, '').trim();
    const above = comments.at(-1);
    if (type === 'Line' && line === lineAfter && above !== undefined) above.text += ` ${text}`;
    else comments.push({ line, text });
    lineAfter = type === 'Line' ? line + 1 : 0;
  }
  return comments.filter(({ text }) => !/^(biome-ignore|@ts-|#|@__)/.test(text));
}
