import { type Delivery, isRefusal, type Later } from './delivery.ts';

/**
 * Runs a delivery whose turn asks a model, unless Claude has just refused five turns in a row: then the turn waits as
 * the last of these does, and no longer, and neither Claude nor the store is asked. One delivery a minute goes through meanwhile. An
 * answer of Claude's opens the gate.
 */
type ClaudeGate = (model: string, deliver: () => Promise<Delivery>) => Promise<Delivery>;

/** Claude's refusals of one model in a row. */
interface RefusedModel {
  count: number;
  /** The time of the last one, in milliseconds since the epoch. */
  at: number;
  last: Later;
  /** True while the one delivery runs that was let through. */
  isAsking: boolean;
}

const SHUT_FROM = 5;
const ASKED_EVERY_MS = 60_000;
/** The pause of a turn that comes while another one asks, in seconds: it may learn more by then. */
const ASKING_PAUSE = 60;
/** The most models that are known: messages name them. */
const MOST_MODELS = 100;

/** Makes the gate of one process. It knows nothing of tenants: what holds up one of them alone shuts it for none. */
export function createClaudeGate(): ClaudeGate {
  const models = new Map<string, RefusedModel>();
  return async (model, deliver) => {
    const shut = models.get(model);
    const isShut = shut !== undefined && shut.count >= SHUT_FROM;
    if (isShut && shut.isAsking) return { ...shut.last, afterSeconds: ASKING_PAUSE, isExact: true };
    const agoMs = isShut ? Date.now() - shut.at : 0;
    // A clock that was put back does not shut the gate for longer.
    if (isShut && Math.abs(agoMs) < ASKED_EVERY_MS) {
      return { ...shut.last, agoSeconds: Math.max(0, agoMs / 1_000) };
    }
    if (isShut) shut.isAsking = true;
    const delivery = await deliver();
    if (isShut) shut.isAsking = false;
    const isHeard = delivery.state === 'answered' ? delivery.isFresh : 'hasProgress' in delivery;
    if (isHeard) models.delete(model);
    if (isRefusal(delivery)) {
      const { state, code, afterSeconds } = delivery;
      const last: Later = { state, code, afterSeconds, isCondition: true };
      if (models.size >= MOST_MODELS) models.clear();
      const row = models.get(model) ?? { count: 0, at: 0, last, isAsking: false };
      models.set(model, Object.assign(row, { count: row.count + 1, at: Date.now(), last }));
    }
    return delivery;
  };
}
