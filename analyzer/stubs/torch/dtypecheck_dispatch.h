// The dispatch macros of the minimal LibTorch: a lambda that is called where it stands, with a
// switch over the dtype and the body once for each case.
#pragma once

#define AT_DISPATCH_CASE_AS(enum_type, hint, ...)             \
  case enum_type: {                                           \
    using hint = ::c10::ScalarTypeToCPPTypeT<enum_type>;      \
    return __VA_ARGS__();                                     \
  }
#define AT_DISPATCH_CASE(enum_type, ...) AT_DISPATCH_CASE_AS(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(type, name, ...)                              \
  [&] {                                                                  \
    const auto& the_type = type;                                         \
    ::c10::ScalarType _st = ::detail::scalar_type(the_type);             \
    switch (_st) {                                                       \
      __VA_ARGS__                                                        \
      default:                                                           \
        TORCH_CHECK(false, name, " not implemented for ", toString(_st)); \
    }                                                                    \
  }()

// Each family once: its cases, which others are made of, and the dispatch over them alone.
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Int, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_CASE_INDEX_TYPES(...) \
  AT_DISPATCH_CASE_AS(::at::ScalarType::Int, index_t, __VA_ARGS__) \
  AT_DISPATCH_CASE_AS(::at::ScalarType::Long, index_t, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INDEX_TYPES(__VA_ARGS__))

// The same with one to four further dtypes.
#define DTYPECHECK_CASES2(type1, type2, ...) \
  AT_DISPATCH_CASE(type1, __VA_ARGS__) AT_DISPATCH_CASE(type2, __VA_ARGS__)
#define DTYPECHECK_CASES3(type1, type2, type3, ...) \
  DTYPECHECK_CASES2(type1, type2, __VA_ARGS__) AT_DISPATCH_CASE(type3, __VA_ARGS__)
#define DTYPECHECK_CASES4(type1, type2, type3, type4, ...) \
  DTYPECHECK_CASES2(type1, type2, __VA_ARGS__) DTYPECHECK_CASES2(type3, type4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
