/**
 * Calls something once the current work is done: after the present task and its promises, before timers. So what a
 * program publishes or settles together leaves together.
 */

type Immediate = (callback: () => void) => unknown;

const immediate = (globalThis as { setImmediate?: Immediate }).setImmediate;

export const soon: (callback: () => void) => void =
  immediate === undefined ? overMessages() : (callback) => void immediate(callback);

/** Browsers delay timers, especially in hidden tabs, but not messages. */
function overMessages(): (callback: () => void) => void {
  const waiting: (() => void)[] = [];
  let channel: MessageChannel | undefined;
  return (callback) => {
    waiting.push(callback);
    if (channel === undefined) {
      channel = new MessageChannel();
      channel.port1.onmessage = () => waiting.shift()?.();
    }
    channel.port2.postMessage(undefined);
  };
}
