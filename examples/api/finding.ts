import { randomBytes } from 'node:crypto';
import {
  type DuplicateFinding,
  type DuplicateState,
  type Finding,
  type HistoryFinding,
  type LogicalName,
  openAdmin,
  type RenameFinding,
  type RenamePhase,
  type VerifyOptions,
} from 'sealed-memory';

const duplicate = ({ older, newer }: DuplicateFinding, state: DuplicateState) => `${older} ${state} ${newer}`;
const rename = ({ from, to }: RenameFinding, phase: RenamePhase) => `${from} ${phase} to ${to}`;
const history = ({ state, expected }: HistoryFinding) => `version ${expected} is ${state}`;
const record = (name: LogicalName) => `record ${name} is damaged`;

function tell(finding: Finding): string {
  if (finding.kind === 'duplicate') return duplicate(finding, finding.state);
  if (finding.kind === 'rename') return rename(finding, finding.phase);
  if (finding.kind === 'history') return history(finding);
  return finding.kind === 'damaged_record' ? record(finding.name) : finding.kind;
}

await using admin = await openAdmin({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const options: VerifyOptions = { repair: true };
console.log((await admin.verify(options)).findings.map(tell));
