import { slugOf } from '../docs/pages.ts';
import { type Example, fileOf } from './examples.ts';
import { GROUPS } from './groups.ts';

/** A page as the generator writes it: by the kinds of exports. */
export interface MadePage {
  readonly subpath: string;
  readonly title: string;
  /** The page's name: `keys.md`. */
  readonly page: string;
  readonly text: string;
}

interface Section {
  readonly name: string;
  readonly text: string;
}

interface Place {
  readonly page: string;
  readonly name: string;
}

/** Orders the sections of all pages by task, leads their links there, and puts an example into each section. */
export function arrangePages(
  made: readonly MadePage[],
  examples: readonly Example[],
): Readonly<Record<string, string>> {
  const pages = made.map((each) => ({ ...each, sections: sectionsOf(each.text) }));
  const shows = (subpath: string, name: string): Example | undefined =>
    examples.find(({ file }) => file === fileOf(subpath, name));

  /** Finds the export that shows an example in which an export is used by its name. */
  const directHost = (subpath: string, name: string): Place | undefined => {
    const own = pages.find((each) => each.subpath === subpath);
    if (own === undefined) return undefined;
    for (const host of [name, ...namesOf(subpath)]) {
      if (shows(subpath, host)?.uses.has(`${subpath} ${name}`)) return { page: own.page, name: host };
    }
    return undefined;
  };
  /** Else that of an export that is described by it: whose section links to it; or of the export that it stands for. */
  const hostOf = (subpath: string, name: string): Place | undefined => {
    const direct = directHost(subpath, name);
    if (direct !== undefined) return direct;
    const own = pages.find((each) => each.subpath === subpath);
    const text = own?.sections.find((section) => section.name === name)?.text ?? '';
    const [, from] = /^Re-exports .*?\]\(([^)#]+)#/m.exec(text) ?? [];
    const original = pages.find(({ page }) => page === from);
    if (original !== undefined) return hostOf(original.subpath, name);
    for (const other of namesOf(subpath)) {
      const section = own?.sections.find((each) => each.name === other)?.text ?? '';
      const host = section.includes(`[\`${name}\`](#`) ? directHost(subpath, other) : undefined;
      if (host !== undefined) return host;
    }
    return undefined;
  };

  const arranged = pages.map(({ subpath, title, page, sections }) => {
    const groups = Object.entries(GROUPS[subpath] ?? {}).map(([task, names]) => {
      const parts = names.flatMap((name) => {
        const found = sections.find((section) => section.name === name);
        if (found === undefined) return [];
        const host = hostOf(subpath, name);
        const example = host?.page === page && host.name === name ? shows(subpath, name) : undefined;
        return [`${found.text}\n\n${exampleOf(example, host, page)}`.trimEnd()];
      });
      return `## ${task}\n\n${parts.join('\n\n***\n\n')}\n`;
    });
    const contents = Object.entries(GROUPS[subpath] ?? {}).map(
      ([task, names]) =>
        `- [${task}](#${slugOf(task)}): ${names.map((name) => `[\`${name}\`](#${name.toLowerCase()})`).join(', ')}`,
    );
    return [page, `# ${title}\n\n${contents.join('\n')}\n\n${groups.join('\n')}`] as const;
  });
  return withLiveLinks(Object.fromEntries(arranged));
}

/** The sections of the exports of a page by their names, in its order. */
export function sectionTexts(page: string): Readonly<Record<string, string>> {
  return Object.fromEntries(sectionsOf(page).map(({ name, text }) => [name, text]));
}

function exampleOf(example: Example | undefined, host: Place | undefined, page: string): string {
  if (example !== undefined) return `#### Example\n\n\`\`\`ts\n${example.text}\n\`\`\``;
  if (host === undefined) return '';
  const file = host.page === page ? '' : relativeTo(page, host.page);
  return `Example: see [\`${host.name}\`](${file}#${host.name.toLowerCase()})`;
}

function relativeTo(page: string, other: string): string {
  return `${'../'.repeat(page.split('/').length - 1)}${other}`;
}

function namesOf(subpath: string): readonly string[] {
  return Object.values(GROUPS[subpath] ?? {}).flat();
}

/** The sections of the exports of a page, without the headings and rules between them. */
function sectionsOf(page: string): readonly Section[] {
  return page
    .split(/^(?=### )/m)
    .slice(1)
    .map((part) => {
      const [, name = ''] = /^### ([\w\\]+)/.exec(part) ?? [];
      const text = part.replace(/\n## [^\n]*\n*$/, '\n').replace(/\n\*\*\*\s*$/, '');
      return { name: name.replaceAll('\\', ''), text: text.trimEnd() };
    });
}

/** Leads each link to an export to the place that its heading has now. */
function withLiveLinks(pages: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const anchors = new Map(Object.entries(pages).map(([page, text]) => [page, anchorsOf(text)]));
  const led = Object.entries(pages).map(([page, text]) => [
    page,
    text.replaceAll(/\[(`?)([\w\\]+)\1\]\(([^)#\s]*)#([\w-]+)\)/g, (link, tick, name, file, anchor) => {
      const target = new URL(file === '' ? page : file, `file:///${page}`).pathname.slice(1);
      const there = anchors.get(target)?.get(name.replaceAll('\\', ''));
      const isOfExport = anchor.replace(/-\d+$/, '') === name.replaceAll('\\', '').toLowerCase();
      return there !== undefined && isOfExport ? `[${tick}${name}${tick}](${file}#${there})` : link;
    }),
  ]);
  return Object.fromEntries(led);
}

/** The anchors of the exports of a page, as GitHub makes them of its headings. */
function anchorsOf(text: string): ReadonlyMap<string, string> {
  const seen = new Map<string, number>();
  const anchors = new Map<string, string>();
  for (const [, level = '', heading = ''] of text
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/^(#+) (.+)$/gm)) {
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    const [name = ''] = /^[\w]+/.exec(heading.replaceAll('\\', '')) ?? [];
    if (level === '###') anchors.set(name, count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}
