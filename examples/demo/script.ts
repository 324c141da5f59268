import {
  createdFile,
  type Dialogue,
  known,
  listedFiles,
  type MemoryCommand,
  readLine,
} from '../../infra/local/claude/dialogue.ts';

export type ConversationName = 'one' | 'two';

/** The word that has to survive from conversation one to conversation two, where the user does not say it. */
export const CODE_NAME = 'Kestrel';

/** The words of the user. The scripted Claude and Claude itself hear the same. */
export const USER_LINES: Readonly<Record<ConversationName, readonly string[]>> = {
  one: [
    `Please take notes for me, in your memory. I am planning the autumn launch with our customer Acme Bakery; its code name is ${CODE_NAME} and the budget is 4,000 euros. Keep one file for each customer in /memories/customers, one fact a line, like "Code name: …". Put the rest into /memories/scratch.md.`,
    `A correction: the budget is 4,500 euros. And note right below it that they prefer short mails. Then create the launch plan as /memories/plans/draft.md, rename it after the code name, and delete the scratch file.`,
  ],
  two: [
    `Hello again. Where were we with the launch? Its code name is public as of today: write "(public)" behind it in the customer's file, and keep a note on today's session in /memories/sessions, in a file named after the code name.`,
  ],
};

/** One step of Claude: it says something, and may send memory commands, all of one turn at once. */
export interface Turn {
  readonly say: string;
  readonly commands?: readonly MemoryCommand[];
}

/** A turn is made from what Claude was told and what its commands returned, never from what it sent before. */
type Step = (dialogue: Dialogue) => Turn;

/** Claude's part after a user line that holds the cue. */
interface Scene {
  readonly cue: string;
  readonly steps: readonly Step[];
}

const takingNotes: Scene = {
  cue: 'take notes',
  steps: [
    () => ({
      say: 'I look into my memory first.',
      commands: [{ command: 'view', path: '/memories' }],
    }),
    (dialogue) => {
      const customer = heard(dialogue, /customer ([A-Z]\w+(?: [A-Z]\w+)*)/);
      const facts = [
        `# ${customer}`,
        `Code name: ${heard(dialogue, /code name is (\w+)/)}`,
        `Budget: ${heard(dialogue, /budget is ([\d,]+ euros)/)}`,
      ];
      return {
        say: `${listedFiles(dialogue).length === 0 ? 'It is empty' : 'Nothing there on this'}, so I start a file.`,
        commands: [
          create(`/memories/customers/${fileName(customer)}`, facts),
          create('/memories/scratch.md', ['Ask for the date.']),
        ],
      };
    },
    (dialogue) => ({
      say: 'I read it back.',
      commands: [{ command: 'view', path: createdFile(dialogue, '/memories/customers/') }],
    }),
    (dialogue) => ({
      say: `Noted: ${readLine(dialogue, 'Code name').value}, with a budget of ${readLine(dialogue, 'Budget').value}.`,
    }),
  ],
};

const correcting: Scene = {
  cue: 'correction',
  steps: [
    (dialogue) => {
      const path = createdFile(dialogue, '/memories/customers/');
      const budget = readLine(dialogue, 'Budget');
      return {
        say: 'Two edits of one file, sent together.',
        commands: [
          {
            command: 'str_replace',
            path,
            old_str: budget.text,
            new_str: `Budget: ${heard(dialogue, /budget is ([\d,]+ euros)/)}`,
          },
          {
            command: 'insert',
            path,
            insert_line: budget.number,
            insert_text: `Mails: ${heard(dialogue, /prefer (\w+) mails/)}\n`,
          },
        ],
      };
    },
    (dialogue) => {
      const draft = heard(dialogue, /(\/memories\/plans\/\S+\.md)/);
      const codeName = readLine(dialogue, 'Code name').value;
      return {
        say: 'Create, insert and rename the same file in one turn: this works only because the commands take effect in the order I sent them.',
        commands: [
          create(draft, [`# Launch of ${codeName}`, 'Invite the press.']),
          {
            command: 'insert',
            path: draft,
            insert_line: 1,
            insert_text: `Spend ${readLine(dialogue, 'Budget').value}.\n`,
          },
          { command: 'rename', old_path: draft, new_path: `/memories/plans/${fileName(codeName)}` },
        ],
      };
    },
    (dialogue) => ({
      say: 'The scratch file goes, and I check what is left.',
      commands: [
        { command: 'delete', path: createdFile(dialogue, '/memories/scratch') },
        { command: 'view', path: '/memories' },
      ],
    }),
    (dialogue) => ({ say: `Done. I keep ${listedFiles(dialogue).join(' and ')}.` }),
  ],
};

const resuming: Scene = {
  cue: 'Where were we',
  steps: [
    () => ({
      say: 'I do not know yet; my memory may.',
      commands: [{ command: 'view', path: '/memories' }],
    }),
    (dialogue) => ({
      say: 'There is a file on a customer.',
      commands: [{ command: 'view', path: customerFile(dialogue) }],
    }),
    (dialogue) => {
      const { text, value } = readLine(dialogue, 'Code name');
      return {
        say: `So we are launching ${value}.`,
        commands: [
          {
            command: 'str_replace',
            path: customerFile(dialogue),
            old_str: text,
            new_str: `${text} (public)`,
          },
          create(`/memories/sessions/${fileName(value)}`, [`${value} is public as of this session.`]),
        ],
      };
    },
    (dialogue) => ({
      say: `We are planning ${readLine(dialogue, 'Code name').value}. Budget: ${readLine(dialogue, 'Budget').value}; mails: ${readLine(dialogue, 'Mails').value}.`,
    }),
  ],
};

const SCENES: readonly Scene[] = [takingNotes, correcting, resuming];

/** Claude's next turn. A refused command, or something it could not read, ends its part: it says so and stops. */
export function nextTurn(dialogue: Dialogue): Turn {
  const refused = dialogue.turn > 0 ? dialogue.exchanges.findLast(({ isError }) => isError) : undefined;
  if (refused) return { say: `My ${refused.command.command} was refused: ${refused.result}` };
  const step = SCENES.find(({ cue }) => dialogue.user.includes(cue))?.steps[dialogue.turn];
  if (!step) return { say: 'I am a script, and this is not in it.' };
  try {
    return step(dialogue);
  } catch (error) {
    return { say: error instanceof Error ? error.message : String(error) };
  }
}

function heard({ user }: Dialogue, pattern: RegExp): string {
  return known(user.match(pattern)?.[1], `something you said like ${pattern.source}`);
}

function customerFile(dialogue: Dialogue): string {
  const path = listedFiles(dialogue).find((file) => file.startsWith('/memories/customers/'));
  return known(path, 'a file on a customer');
}

function create(path: string, lines: readonly string[]): MemoryCommand {
  return { command: 'create', path, file_text: `${lines.join('\n')}\n` };
}

function fileName(words: string): string {
  return `${words.toLowerCase().replaceAll(' ', '-')}.md`;
}
