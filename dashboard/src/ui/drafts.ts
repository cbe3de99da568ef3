/** What a form holds before it is sent: from the address at first, and again whenever another address of the view is followed. */

import { useState } from "preact/hooks";

export function useDraft<Fields extends Readonly<Record<string, string>>>(given: Fields): readonly [Fields, (draft: Fields) => void] {
  const address = JSON.stringify(given);
  const [typed, setTyped] = useState({ address, fields: given });
  const isHere = typed.address === address;
  // What was typed at an address before is gone, also where the way leads back there.
  if (!isHere) setTyped({ address, fields: given });
  return [isHere ? typed.fields : given, (draft) => setTyped({ address, fields: draft })];
}
