/**
 * Judges the content or the name that a write would give a file, before anything of it is sealed. A policy may be asked
 * several times about one write. An error that it throws refuses the write.
 */
export type Policy = (file: PolicyFile) => PolicyVerdict | Promise<PolicyVerdict>;

export interface PolicyFile {
  /** The path that the file would have. */
  readonly path: string;
  /** The whole content that the file would hold; undefined where a file or a directory only gets another name. */
  readonly content: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** `redact`: the content is written instead. A name cannot be redacted, so its findings refuse. */
export type PolicyVerdict =
  | 'allow'
  | {
      readonly refuse: readonly PolicyFinding[];
      /** `not_text`: the policy replaces findings in UTF-8 text alone, and this content is something else. */
      readonly reason?: 'not_text';
    }
  | { readonly redact: Uint8Array; readonly findings: readonly PolicyFinding[] };

/** The place where a rule was broken, without the text found there. */
export interface PolicyFinding {
  readonly rule: string;
  /** The number of the line, from 1; undefined for the name. */
  readonly line?: number | undefined;
}
