// The page of requests: the list at its own address, one request and its conversation at theirs.
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { useMay } from '../parts/for-role.ts';
import { place } from '../router.ts';
import { ConversationPage } from './requests/conversation.ts';
import { RequestPage } from './requests/detail.ts';
import { RequestList } from './requests/list.ts';

export function view(): View {
  const { path } = useCell(place);
  const may = useMay();
  const [, , id, part] = path.split('/');
  if (id === undefined) return html`<${RequestList} />`;
  // What was said is not for viewers.
  if (part === 'conversation' && may('operator')) return html`<${ConversationPage} key=${id} id=${id} />`;
  return html`<${RequestPage} key=${id} id=${id} />`;
}
