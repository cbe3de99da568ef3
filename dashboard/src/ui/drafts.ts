/** What a form holds before it is sent: from the address at first, and again whenever another address of the view is followed. */

import { useState } from "preact/hooks";

export function useDraft<Fields extends Readonly<Record<string, string>>>(given: Fields): readonly [Fields, (draft: Fields) => void] {
  const address = JSON.stringify(given);
  const [typed, setTyped] = useState({ address, fields: given });
  const fields = typed.address === address ? typed.fields : given;
  return [fields, (draft) => setTyped({ address, fields: draft })];
}
