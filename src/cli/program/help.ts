import type { Command, Help, Option } from 'commander';

/** The topic of `help` that lists the options which every command takes, so that no command repeats them. */
export const OPTIONS_TOPIC = 'options';

/** Stands in for the width where a terminal does not know its own, and for a file. */
const USUAL_COLUMNS = 80;
/** The fewest columns with which what explains a term stands beside it; with fewer it stands below. */
const LEAST_FOR_TWO = 56;
/** The most characters of a term that has what explains it beside it. */
const WIDEST_TERM = 30;
const INDENT = 2;
const GAP = 2;
const BELOW = 6;

const EPILOGUE: readonly string[] = [
  'A path is one of the memory: notes/a.md is /memories/notes/a.md.',
  'Settings come from flags, the environment, .env in the current folder, which "sealed-memory init" writes, and .sealed-memory/config.toml or ~/.config/sealed-memory/config.toml; the first that has one counts. A profile that you name goes before .env, and so does a configuration file in SEALED_MEMORY_CONFIG. SEALED_MEMORY_ACTOR says on whose behalf you write; where the tenant keeps history, "log" shows it and "undo" takes it.',
  'Exit codes: 0 done; 1 refused or failed, or something is left to do; 2 wrong call or setting; 3 no alarm, and something could not be told; 4 a root key that a tenant holds is away; 130 interrupted.',
];

interface Item {
  readonly term: string;
  readonly told: string;
}

interface Section {
  readonly heading: string;
  readonly items: readonly Item[];
}

/** Lays a help out for any width: words stay whole, and the options of every command are named in one line. */
export const HELP = {
  /** Wrapping is never left out. */
  minWidthToWrap: 1,

  formatHelp(command: Command, helper: Help): string {
    const width = widthOf(helper);
    const sections = [argumentsOf(command, helper), ownOptionsOf(command, helper), ...groupsOf(command)];
    const { parent } = command;
    return joined([
      hanging(`Usage: ${fullName(command)} ${usageOf(command)}`.trimEnd(), { helper, width, indent: 7 }),
      helper.boxWrap(command.description(), width),
      ...laidOut(sections, { helper, width }),
      helper.boxWrap(`Options of every command: sealed-memory help ${OPTIONS_TOPIC}`, width),
      ...(parent === null ? EPILOGUE.map((text) => helper.boxWrap(text, width)) : []),
    ]);
  },
};

/** Lays out what `help options` shows. */
export function helpOnOptions(program: Command): string {
  const helper = program.createHelp();
  helper.prepareContext({ helpWidth: program.configureOutput().getOutHelpWidth?.() ?? USUAL_COLUMNS });
  const width = widthOf(helper);
  const visible = helper.visibleOptions(program);
  const groups = helper.groupItems(visible, visible, (option) => option.helpGroupHeading ?? 'Options:');
  const sections = [...groups].map(([heading, options]) => ({
    heading,
    items: options.map((option) => itemOf(option, helper)),
  }));
  return joined([
    helper.boxWrap('Every command takes these options, before or after its name.', width),
    ...laidOut(sections, { helper, width }),
  ]);
}

/** Joins the words of a command, from the program's name on. */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

function widthOf({ helpWidth }: Help): number {
  return helpWidth || USUAL_COLUMNS;
}

function joined(blocks: readonly string[]): string {
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

/** `[options]` stands for options of its own; every command has the others. */
function usageOf(command: Command): string {
  const isPlain = command.options.length === 0 || command.parent === null;
  return isPlain ? command.usage().replace(/^\[options\] ?/, '') : command.usage();
}

/** Names a command as it stands in a list, with what is given after its name. */
function termOf(command: Command): string {
  const usage = command.usage().replace(/^\[options\] ?/, '');
  return command.commands.length > 0 ? command.name() : `${command.name()} ${usage}`.trimEnd();
}

function toldOf(command: Command): string {
  const names = command.commands.map((each) => each.name());
  return names.length === 0 ? command.description() : `${command.description()}: ${names.join(', ')}`;
}

function argumentsOf(command: Command, helper: Help): Section {
  const items = helper
    .visibleArguments(command)
    .filter((argument) => argument.description !== '')
    .map((argument) => ({ term: argument.name(), told: helper.argumentDescription(argument) }));
  return { heading: 'Arguments:', items };
}

function ownOptionsOf(command: Command, helper: Help): Section {
  const own = command.parent === null ? [] : command.options.filter(({ hidden }) => !hidden);
  return { heading: 'Options:', items: own.map((option) => itemOf(option, helper)) };
}

function itemOf(option: Option, helper: Help): Item {
  return { term: helper.optionTerm(option), told: helper.optionDescription(option) };
}

/** The commands below a command, by their headings. */
function groupsOf(command: Command): readonly Section[] {
  const visible = command.createHelp().visibleCommands(command);
  const groups = new Map<string, Item[]>();
  for (const each of visible.filter((one) => isListed(one, command))) {
    const heading = each.helpGroup() || 'Commands:';
    const items = groups.get(heading) ?? [];
    items.push({ term: termOf(each), told: toldOf(each) });
    groups.set(heading, items);
  }
  return [...groups].map(([heading, items]) => ({ heading, items }));
}

/** `keys help` is understood, and stands for `help keys`. */
export function isListed(command: Command, { parent }: Command): boolean {
  return parent === null || command.name() !== 'help';
}

interface HelpLayout {
  readonly helper: Help;
  readonly width: number;
}

function laidOut(sections: readonly Section[], layout: HelpLayout): readonly string[] {
  const lengths = sections.flatMap(({ items }) => items.map(({ term }) => term.length));
  const beside = Math.max(0, ...lengths.filter((length) => length <= WIDEST_TERM));
  return sections
    .filter(({ items }) => items.length > 0)
    .map(({ heading, items }) =>
      [heading, ...items.map((item) => itemLines(item, { ...layout, beside }))].join('\n'),
    );
}

function itemLines(
  { term, told }: Item,
  { helper, width, beside }: HelpLayout & { readonly beside: number },
): string {
  const column = width < LEAST_FOR_TWO ? BELOW : INDENT + beside + GAP;
  const isBeside = width >= LEAST_FOR_TWO && term.length <= beside;
  const explained = indented(helper.boxWrap(told, width - column), column);
  if (isBeside) return `${' '.repeat(INDENT)}${term.padEnd(beside + GAP)}${explained.trimStart()}`.trimEnd();
  const name = hanging(term, { helper, width: width - INDENT, indent: GAP });
  return [indented(name, INDENT), ...(told === '' ? [] : [explained])].join('\n');
}

/** A text in lines, of which the later ones are indented. */
function hanging(text: string, { helper, width, indent }: HelpLayout & { readonly indent: number }): string {
  return helper.boxWrap(text, width - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
}

function indented(text: string, by: number): string {
  return text.replaceAll(/^/gm, ' '.repeat(by));
}
