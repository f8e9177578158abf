import { answerQuestions } from './answer-questions.ts'
import { createArgumentValidator } from './validate-arguments.ts'

/** A program of its own: definitions and their arguments in, reports out. */
const validateArguments = createArgumentValidator()
answerQuestions(validateArguments)
