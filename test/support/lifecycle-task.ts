/** A verb for a process of its own, with its options. */
export type LifecycleTask = {
  /** By how much everything in the store looks older than it is, in milliseconds. */
  readonly aheadMs?: number;
} & (
  | { readonly verb: 'rotate'; readonly force?: boolean }
  | {
      readonly verb: 'sweep';
      readonly reencrypt?: boolean;
      readonly wait?: boolean;
      readonly ttlMs?: number;
    }
  | { readonly verb: 'rewrap-root' }
  | { readonly verb: 'shred'; readonly ttlMs: number }
  | { readonly verb: 'verify'; readonly repair: boolean }
  | { readonly verb: 'restore'; readonly to: string }
);
