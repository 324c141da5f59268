export type {
  CheckpointOptions,
  CheckpointReport,
  NewCheckpoint,
  RefusedCheckpoint,
  WrittenCheckpoint,
} from './admin/checkpoints/checkpoint.ts';
export type { ExpiryOptions, ExpiryReport, TenantExpiry } from './admin/expiry/expire.ts';
export type { ExportOptions, ExportReport } from './admin/export/export-tree.ts';
export type {
  DuplicateFinding,
  DuplicateState,
  Finding,
  HistoryFinding,
  RenameFinding,
  SinceFinding,
  SinceVersion,
} from './admin/findings.ts';
export type { KeyStatus, KeyVersion, KeyVersionUse } from './admin/keys/key-status.ts';
export type { MigrateOptions, MigrationProgress, MigrationReport } from './admin/keys/migrate.ts';
export type { ConfiguredRootKey, RootKeyStatus } from './admin/keys/root-key-status.ts';
export type { RewrapOptions, RewrapReport, RotateOptions, RotateReport } from './admin/keys/rotate.ts';
export type { ShredOptions, ShredProgress, ShredReport } from './admin/keys/shred.ts';
export type { HistorySwitch } from './admin/keys/turn-history.ts';
export type { VerifyOptions, VerifyReport } from './admin/verify/verify.ts';
export type { SinceReport } from './admin/verify/verify-since.ts';
export {
  type ErrorDetails,
  type KeyHolder,
  MemoryError,
  type MemoryErrorCode,
  type MemoryErrorOptions,
  type RetryAdvice,
} from './errors.ts';
export type { NameMode } from './format/names.ts';
export type { LogicalName, ObjectKey, TenantId } from './format/object-keys.ts';
export type { HistoryPlan, LeftFile, PlannedChange, PlanOutcome } from './history/change/plan.ts';
export type {
  History,
  RestoreAtOptions,
  RestoredVersion,
  RestoreOptions,
  UndoOptions,
  VersionContent,
  VersionRef,
} from './history/history.ts';
export type {
  HistoryEntry,
  HistoryListOptions,
  MovedEntry,
  Redaction,
  VersionEnd,
  WrittenEntry,
} from './history/past/entries.ts';
export type { Trace, TracedTurn, TracedVersion, TracedWrite } from './history/trace/trace.ts';
export type { Untold } from './history/trace/untold.ts';
export type { GeneratedKey, KeyringContext, RootKey } from './keys/root-key.ts';
export type { RootKeyInput } from './keys/root-keys.ts';
export type { CommandName } from './language/command.ts';
export type { ImageMediaType } from './language/image.ts';
export type { MemoryPath } from './language/path.ts';
export type { LogFields, Logger } from './logger.ts';
export { openAdmin } from './open/open-admin.ts';
export { openMemory } from './open/open-memory.ts';
export { type Environment, optionsFromEnvironment } from './open/options/environment.ts';
export type { MemoryOptions, MountOptions, TenantSettings, TenantSource } from './open/options/options.ts';
export { createMemoryPool, type MemoryPool, type PoolOpenOptions, type PoolOptions } from './open/pool.ts';
export type { TenantAdmin } from './open/tenant-admin.ts';
export type { PolicyInput } from './policy/policy-words.ts';
export type { SessionFold } from './sessions/fold.ts';
export type { SessionKey } from './sessions/session-key.ts';
export type { ListedSession, SessionOptions, Sessions } from './sessions/sessions.ts';
export type { S3Options } from './store/open-store.ts';
export type {
  ChangeConflict,
  ChangeResult,
  Changes,
  DatedMeta,
  DeleteFailure,
  DeleteOptions,
  DeleteTarget,
  ETag,
  GetOptions,
  KeptVersion,
  ListedObject,
  ListOptions,
  ListPage,
  ObjectMeta,
  ObjectStore,
  ObjectVersions,
  PutMode,
  PutOptions,
  PutTarget,
  RequestOptions,
  SendBound,
  StoredObject,
  WriteResult,
} from './store/port.ts';
export type {
  AwsCredentialIdentity,
  AwsCredentialIdentityProvider,
  AwsCredentials,
} from './store/s3/callers-credentials.ts';
export type { RequestKind } from './tool/call-counts.ts';
export type { ImageBlock, MemoryContent } from './tool/commands.ts';
export type {
  AppendedFile,
  DirectoryStat,
  FileContent,
  FileEntry,
  FileOptions,
  FileStat,
  Files,
  WriteMode,
  WrittenFile,
} from './tool/files.ts';
export type {
  ExecuteOptions,
  Memory,
  MemoryHandlers,
  MemoryResult,
  MemoryTool,
  MemoryToolProps,
  ToolErrorClass,
} from './tool/memory-tool.ts';
export type { RedactedRule } from './tool/redactions.ts';
export type { EventHandler, MemoryEvent } from './tool/watch.ts';
export type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from './tree/admission/policy.ts';
export type { RenamePhase } from './tree/rename/register.ts';
export type { CallOptions, Progress } from './tree/tenant.ts';
export type { Touch, Touches } from './tree/touches.ts';
