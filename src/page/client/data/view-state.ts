export type View = 'memory' | 'history' | 'health';
/** On a narrow screen one of the three is seen. */
export type Pane = 'tree' | 'file' | 'bucket';

/** How a file is shown: rendered, as text, as the model reads it, as what it is, or what it was. */
export type Look = 'read' | 'text' | 'reply' | 'shown' | 'versions';
