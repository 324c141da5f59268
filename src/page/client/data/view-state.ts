export type View = 'memory' | 'history' | 'health';
/** The panes, of which a narrow screen shows one. */
export type Pane = 'tree' | 'file' | 'store';

/**
 * The forms in which a file is shown: rendered, as text, as the model reads it, as its image or size, or as its
 * versions.
 */
export type FileLook = 'read' | 'text' | 'reply' | 'shown' | 'versions';

export const LOOK_WORDS: Readonly<Record<FileLook, string>> = {
  read: 'Read',
  text: 'Text',
  reply: 'As Claude reads it',
  shown: 'Now',
  versions: 'Versions',
};
