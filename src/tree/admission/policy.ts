/**
 * Judges what a file would hold, or be called, before anything of it is sealed. It may be asked several times about one
 * write. What it throws refuses the write.
 */
export type Policy = (file: PolicyFile) => PolicyVerdict | Promise<PolicyVerdict>;

export interface PolicyFile {
  /** As it would be called. */
  readonly path: string;
  /** All that the file would hold; undefined where a file or a directory only gets another name. */
  readonly content: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** `redact`: the content is written instead. A name cannot be redacted, so its findings refuse. */
export type PolicyVerdict =
  | 'allow'
  | {
      readonly refuse: readonly PolicyFinding[];
      /** `not_text`: the findings would be replaced in UTF-8 text, which this is not. */
      readonly reason?: 'not_text';
    }
  | { readonly redact: Uint8Array; readonly findings: readonly PolicyFinding[] };

/** Where a rule was broken; never what was found there. */
export interface PolicyFinding {
  readonly rule: string;
  /** From 1; undefined for the name. */
  readonly line?: number | undefined;
}
