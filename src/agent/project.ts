import { hasCode, MemoryError } from '../errors.ts';
import type { Memory } from '../tool/memory-tool.ts';
import {
  checklistText,
  completion,
  currentFeature,
  type Evidence,
  entryText,
  type Feature,
  parseChecklist,
  progressText,
  type SessionEntry,
  startText,
} from './project-format.ts';

/** Where a project lies, and how to cancel. */
export interface ProjectOptions {
  readonly memory: Pick<Memory, 'execute' | 'files'>;
  /** `/memories/project` by default; for several projects in one memory. */
  readonly directory?: string;
  readonly signal?: AbortSignal;
}

/** What the first session knows of a project before any work. */
export interface ProjectPlan {
  /** What the project is for. */
  readonly summary: string;
  /** Titles of the features, in the order of work. */
  readonly features: readonly string[];
  /** How to start what was built so far, such as `./init.sh`. */
  readonly startScript: string;
}

export interface ProjectState {
  /** The progress log. */
  readonly progress: string;
  readonly features: readonly Feature[];
  /** The one to work on; undefined when all are complete. */
  readonly current: Feature | undefined;
  readonly start: string;
  /** For the first message of a session: where the files are, what they say, and which feature is next. */
  readonly briefing: string;
}

const DIRECTORY = '/memories/project';
const APPENDING_ATTEMPTS = 3;

/**
 * Writes the progress log, the feature checklist and the reference to the start-up script. Whatever is there already
 * stays as it is, so it may be called by every session and by several at once.
 *
 * @returns the paths of the files that were made by this call.
 * @throws MemoryError `invalid_command` for an empty text or a feature that comes twice; what a command fails with.
 */
export async function bootstrapProject(options: ProjectOptions & ProjectPlan): Promise<readonly string[]> {
  const { summary, features, startScript } = options;
  const texts = {
    progress: progressText(summary),
    checklist: checklistText(features),
    start: startText(startScript),
  };
  const files = filesOf(options);
  const made: string[] = [];
  for (const name of ['start', 'checklist', 'progress'] as const) {
    if (await files[name].createIfAbsent(texts[name])) made.push(pathOf(options, name));
  }
  return made;
}

/**
 * Reads where the project stands.
 *
 * @throws MemoryError `not_found` when it was not bootstrapped; what a command fails with.
 */
export async function startSession(options: ProjectOptions): Promise<ProjectState> {
  const files = filesOf(options);
  const [progress, checklist, start] = await Promise.all([
    existing(files.progress),
    existing(files.checklist),
    existing(files.start),
  ]);
  const features = parseChecklist(checklist);
  const current = currentFeature(features);
  const state = { progress: progress.join('\n'), features, current, start: start.join('\n') };
  const next = current
    ? `Work on this feature and on no other: ${current.title}`
    : 'Every feature is complete; there is nothing to do unless the user adds one.';
  const parts = (['start', 'checklist', 'progress'] as const).map(
    (name) => `${pathOf(options, name)}:\n${{ start, checklist, progress }[name].join('\n')}`,
  );
  return { ...state, briefing: ['Your memory says about this project:', ...parts, next].join('\n\n') };
}

/**
 * Appends to the progress log what was done and what is next. Entries of sessions that end at the same time are all kept.
 *
 * @throws MemoryError `invalid_command` for an entry that says nothing; what a command fails with.
 */
export async function endSession(
  options: ProjectOptions & SessionEntry & { readonly now?: Date },
): Promise<void> {
  const entry = entryText(options, options.now ?? new Date());
  const { progress } = filesOf(options);
  for (let attempt = 1; ; attempt += 1) {
    const lines = await existing(progress);
    try {
      return await progress.insertAfter(lines.length - (lines.at(-1) === '' ? 1 : 0), entry);
    } catch (error) {
      // Another process shortened the log between the two commands.
      const isMoved = hasCode(error, 'line_out_of_range');
      if (!isMoved || attempt === APPENDING_ATTEMPTS) throw error;
    }
  }
}

/**
 * Marks the current feature complete, with the evidence below it. To complete another one first, move it up in the list.
 *
 * @returns the feature that is next; undefined when all are complete.
 * @throws MemoryError `policy_refused` when it is not the current feature or complete already; `not_found` when the
 * list has no such feature; `invalid_command` for evidence that is empty; what a command fails with.
 */
export async function completeFeature(
  options: ProjectOptions & { readonly feature: string; readonly evidence: Evidence },
): Promise<Feature | undefined> {
  const { checklist } = filesOf(options);
  const lines = await existing(checklist);
  const features = parseChecklist(lines);
  const current = currentFeature(features);
  if (!features.some(({ title }) => title === options.feature)) {
    throw new MemoryError('not_found', 'the checklist of the project has no such feature');
  }
  if (current?.title !== options.feature) {
    throw new MemoryError('policy_refused', 'only the first feature that is not complete can be completed');
  }
  const { oldText, newText } = completion(lines, current, options.evidence);
  await checklist.replace(oldText, newText);
  return currentFeature(features.filter((feature) => feature !== current));
}

type FileName = 'progress' | 'checklist' | 'start';

/** A text file of the project. Every method throws the `MemoryError` of what failed. */
interface ProjectFile {
  /** Its lines, so that a final line break leaves an empty one; undefined when there is no file. */
  read(): Promise<readonly string[] | undefined>;
  /** False when the file was there before; it is then left alone. */
  createIfAbsent(text: string): Promise<boolean>;
  replace(oldText: string, newText: string): Promise<void>;
  /** @throws MemoryError `line_out_of_range` when the file has fewer lines by now. */
  insertAfter(line: number, text: string): Promise<void>;
}

function filesOf(options: ProjectOptions): Readonly<Record<FileName, ProjectFile>> {
  const open = (name: FileName): ProjectFile => projectFile(options, pathOf(options, name));
  return { progress: open('progress'), checklist: open('checklist'), start: open('start') };
}

function pathOf({ directory = DIRECTORY }: ProjectOptions, name: FileName): string {
  return `${directory}/${name === 'checklist' ? 'features' : name}.md`;
}

/** Written by the same commands that Claude has. */
function projectFile({ memory, signal }: ProjectOptions, path: string): ProjectFile {
  const run = async (input: object): Promise<void> => {
    const result = await memory.execute({ ...input, path }, { signal });
    if (result.isError) throw result.error;
  };
  const read: ProjectFile['read'] = async () => {
    const content = await memory.files.read(path, { signal });
    return content && new TextDecoder().decode(content).split('\n');
  };
  return {
    read,
    async createIfAbsent(file_text) {
      // A memory that overwrites existing files would not refuse the create.
      if ((await read()) !== undefined) return false;
      return run({ command: 'create', file_text }).then(
        () => true,
        (error: unknown) => {
          if (hasCode(error, 'already_exists')) return false;
          throw error;
        },
      );
    },
    replace: (old_str, new_str) => run({ command: 'str_replace', old_str, new_str }),
    insertAfter: (insert_line, insert_text) => run({ command: 'insert', insert_line, insert_text }),
  };
}

async function existing(file: ProjectFile): Promise<readonly string[]> {
  const lines = await file.read();
  if (lines !== undefined) return lines;
  throw new MemoryError('not_found', 'a file of the project is missing; bootstrap it first');
}
