import type { ErrorBody, ErrorDetail } from '@toolrack/contract'

/** An error answer in short: its status, the code of its first detail, its message and details. */
export type ErrorAnswer = {
  readonly httpStatus: number
  readonly reason: string | undefined
  readonly message: string
  readonly details: readonly ErrorDetail[]
}

/** Reads an answer. Throws unless it is an error in the shape of all errors. */
export async function errorAnswer(answer: Response): Promise<ErrorAnswer> {
  const { error } = (await answer.json()) as ErrorBody
  const keys = Object.keys(error).join()
  if (keys !== 'code,status,message,details' || error.code !== answer.status) {
    throw new Error(`not the shape of an error: ${answer.status} ${JSON.stringify(error)}`)
  }
  return {
    httpStatus: answer.status,
    reason: error.details[0]?.reason,
    message: error.message,
    details: error.details,
  }
}
