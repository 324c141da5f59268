/** A verb for a process of its own, with its options. */
export type LifecycleTask = {
  /** The milliseconds by which everything but the keyring looks older than it is. */
  readonly aheadMs?: number;
  /** Writers rename directories meanwhile. */
  readonly amongOthers?: boolean;
} & (
  | { readonly verb: 'rotate'; readonly force?: boolean }
  | {
      readonly verb: 'migrate';
      readonly reencrypt?: boolean;
      readonly wait?: boolean;
      readonly ttlMs?: number;
    }
  | { readonly verb: 'rewrap-root' }
  | { readonly verb: 'shred'; readonly ttlMs: number }
  | { readonly verb: 'verify'; readonly repair: boolean }
  | { readonly verb: 'restore'; readonly to: string }
);
