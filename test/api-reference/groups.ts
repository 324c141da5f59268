/** The tasks for which an entry point is there, in the order of its page, and the exports that belong to each. */
type Tasks = Readonly<Record<string, readonly string[]>>;

/** Every entry point by its subpath; a test holds that every export stands in one group. */
export const GROUPS: Readonly<Record<string, Tasks>> = {
  '.': {
    'Open a memory': names(`
      openMemory MemoryOptions optionsFromEnvironment Environment Memory S3Options NameMode MountOptions`),
    'Give it to Claude': names(`
      MemoryTool MemoryToolProps MemoryHandlers MemoryResult ExecuteOptions MemoryContent ImageBlock ImageMediaType
      CommandName ToolErrorClass`),
    'Read and write files': names(`
      Files FileEntry FileStat DirectoryStat FileContent FileOptions WriteMode WrittenFile AppendedFile MemoryPath
      CallOptions`),
    'Serve many tenants': names(`
      createMemoryPool PoolOptions MemoryPool PoolOpenOptions TenantSource TenantSettings TenantId`),
    'Look after a tenant': names(`
      openAdmin TenantAdmin ExportOptions ExportReport ExpiryOptions ExpiryReport TenantExpiry VerifyOptions
      VerifyReport Finding RenameFinding RenamePhase DuplicateFinding DuplicateState`),
    'Show later what was put back': names(`
      CheckpointOptions CheckpointReport NewCheckpoint WrittenCheckpoint RefusedCheckpoint SinceReport SinceFinding
      SinceVersion`),
    'Hold keys': names(`
      RootKeyInput RootKey GeneratedKey KeyringContext RootKeyStatus ConfiguredRootKey RewrapOptions RewrapReport
      KeyStatus KeyVersion KeyVersionUse RotateOptions RotateReport MigrateOptions MigrationProgress
      MigrationReport ShredOptions ShredProgress ShredReport`),
    'Read history and undo': names(`
      History HistorySwitch HistoryListOptions HistoryEntry WrittenEntry MovedEntry Redaction VersionEnd VersionRef
      VersionContent RestoreOptions RestoredVersion UndoOptions RestoreAtOptions HistoryPlan PlannedChange
      PlanOutcome LeftFile Trace TracedTurn TracedVersion TracedWrite Untold HistoryFinding`),
    'Judge what is written': names(`
      PolicyInput Policy PolicyFile PolicyVerdict PolicyFinding RedactedRule`),
    'Keep sessions of agents': names(`Sessions SessionOptions SessionKey ListedSession SessionFold`),
    'Watch what happens': names(`
      EventHandler MemoryEvent Touches Touch RequestKind Progress Logger LogFields`),
    'Handle errors': names(`
      MemoryError MemoryErrorCode MemoryErrorOptions ErrorDetails RetryAdvice KeyHolder`),
    'Reach AWS with credentials of your own': names(`
      AwsCredentials AwsCredentialIdentity AwsCredentialIdentityProvider`),
    'Bring a store of your own': names(`
      ObjectStore ObjectKey LogicalName ETag ObjectMeta DatedMeta StoredObject GetOptions RequestOptions PutTarget
      PutMode PutOptions SendBound WriteResult DeleteTarget DeleteOptions DeleteFailure Changes ChangeResult
      ChangeConflict ListOptions ListPage ListedObject ObjectVersions KeptVersion`),
  },
  './keys': {
    'Hold a root key in AWS KMS': names(`
      kmsRootKey KmsRootKeyOptions AwsCredentials AwsCredentialIdentity AwsCredentialIdentityProvider`),
    'Hold a root key in Vault': names(`vaultRootKey VaultRootKeyOptions VaultTokenOptions`),
    'Hold a root key in a service of your own': names(`RootKey GeneratedKey KeyringContext`),
  },
  './agent': {
    'Run a turn': names(`
      runTurn TurnRequest MessagesClient TurnRunner ReplyStream RequestExtras SystemPrompt SystemAdditions
      TurnOutcome TurnEnding TurnUsage CompactionFailure`),
    'Watch and continue a turn': names(`ToolUseReport CommandReport TurnProgress PendingReply`),
    'Keep a long conversation short': names(`ContextManagement ContextEdit ClearToolUses Compaction`),
    'Keep the state of a project': names(`
      bootstrapProject readProject completeFeature logProgress ProjectOptions ProjectPlan ProjectState Feature
      Evidence ProgressEntry`),
  },
  './worker': {
    'Run turns from a queue': names(`
      createWorker Worker WorkerOptions readWorkerConfig WorkerConfig TurnMessage TurnName AnswerForm
      LambdaContext TurnTouches`),
    'Take the answer of a turn': names(`
      createReplies Replies RepliesOptions openAnswers Answers TurnAnswer TextAnswer DirectAnswer FullAnswer
      BareAnswer`),
    'Seal a prompt': names(`sealPrompt openPromptSealer PromptSealer PromptRequest SealedTurn`),
    'Give each tenant its credentials': names(`
      createTenantCredentials CredentialsOptions TenantCredentials TenantCredentialProvider`),
    'Let unused memories expire': names(`
      createExpiry ExpiryPlan ScheduledExpiry ScheduledExpiryOptions readExpiryConfig ExpiryConfig`),
    'Write a log': names(`createJsonLogger JsonLogger JsonLoggerOptions LogLevel`),
  },
  './policy': {
    'Keep sensitive information out': names(`
      sensitiveInformation SensitiveInformationOptions PersonalData Policy PolicyFile PolicyVerdict PolicyFinding`),
  },
  './mcp': { 'Serve a memory over MCP': names(`createMemoryServer MemoryServerOptions`) },
  './schema': {
    'Describe the memory tool to another host': names(`
      memoryToolDefinition ToolDefinition MEMORY_PROTOCOL InputSchema FieldSchema commandSchema`),
    'Give each command a tool': names(`
      commandToolDefinitions CommandToolDefinition commandInput CommandName`),
  },
  './telemetry': { 'Measure with OpenTelemetry': names(`createTelemetry`) },
  './ai-sdk': {
    'Give the memory to a model of Claude': names(`memoryTool ClaudeMemoryTool`),
    'Give the memory to any model': names(`memoryFunctionTool MemoryFunctionTool MemoryOutput`),
  },
  './langchain': {
    'Give the memory to a model of Claude': names(`memoryTool`),
    'Give the memory to any model': names(`memoryFunctionTool`),
  },
  './openai-agents': { 'Give the memory to an agent': names(`memoryTools StrictSchema`) },
  './mastra': { 'Give an agent a filesystem': names(`memoryFilesystem MemoryFilesystemOptions`) },
  './unstorage': { 'Keep items of unstorage': names(`memoryDriver MemoryDriverOptions MemoryItemMeta`) },
  './claude-agent-sdk': {
    'Keep sessions of the Agent SDK': names(`createSessionStore`),
    'Give the memory to its agents': names(`createAgentMemoryServer AgentMemoryServerOptions`),
  },
  './testing': {
    'Play Claude in a test': names(`
      createScriptedClaude ScriptedClaudeOptions ClaudeScript ScriptedPart ToolCall ScriptedReply ReplyBlock
      ThinkingBlock SummaryBlock SignedSummary ThresholdSummary AppliedEdit DroppedThought`),
    'Decide on what the request says': names(`
      ScriptedScene ScriptedView SentRequest RequestMessage RequestBlock NoSummary`),
    'Let the API fail': names(`ApiRefusal ApiRefusalOptions ScriptedFault`),
    'Hold the clock': names(`createTestClock TestClock`),
    'Judge a store or a root key of your own': names(`
      objectStoreContract StoreConformance StoreLack rootKeyContract RootKeyConformance RootKeyPair ContractCase`),
  },
  './cdk': {
    'Deploy the stack': names(`
      SealedMemory SealedMemoryProps WorkerSettings BundledFunction Network Queues`),
  },
};

function names(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
