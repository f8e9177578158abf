import type { Pieces } from '../../functions/src/loop-turn.ts'

/** Work of one piece. It begins when the first piece is asked for. */
// oxlint-disable-next-line require-yield -- It is one piece.
export function* onePiece<Result>(act: () => Result): Pieces<Result> {
  return act()
}
